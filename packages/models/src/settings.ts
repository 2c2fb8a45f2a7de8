import type { JsonObject, ModelRequest, ModelSettings } from '@koagent/core'

/** What every maker of a model takes. */
export interface WithSettings {
  /** Settings of the requests that do not say otherwise; of `extra`, each field by itself: `{ extra: { reasoning_effort: 'low' } }`. */
  readonly settings?: ModelSettings
}

/** The agent's tools, and the provider's own ones in `extra`, which stand beside them and not in their place. Those are sent as they are. */
export function withHosted<Tool>(own: readonly Tool[], extra: JsonObject | undefined): Tool[] {
  const hosted = extra?.['tools']
  return Array.isArray(hosted) ? [...own, ...(hosted as readonly unknown[] as readonly Tool[])] : [...own]
}

/** The request, with the settings that it leaves out. */
export function withDefaults(request: ModelRequest, defaults: ModelSettings | undefined): ModelRequest {
  if (!defaults) return request
  const { settings = {} } = request
  const extra = { ...defaults.extra, ...settings.extra }
  const given = Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined))
  return { ...request, settings: { ...defaults, ...given, ...(Object.keys(extra).length > 0 && { extra }) } }
}
