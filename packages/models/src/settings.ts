import type { JsonObject, ModelRequest, ModelSettings } from '@koagent/core'

/** What every maker of a model takes. */
export interface WithSettings {
  /** Settings of the requests that do not say otherwise; of `extra`, each field by itself: `{ extra: { reasoning_effort: 'low' } }`. */
  readonly settings?: ModelSettings
}

/** The provider's own tools in `extra`, which stand beside the agent's and not in their place. They are sent as they are. */
export function hostedTools<Tool>(extra: JsonObject | undefined): readonly Tool[] {
  const tools = extra?.['tools']
  return Array.isArray(tools) ? (tools as readonly unknown[] as readonly Tool[]) : []
}

/** The request, with the settings that it leaves out. */
export function withDefaults(request: ModelRequest, defaults: ModelSettings | undefined): ModelRequest {
  if (!defaults) return request
  const { settings = {} } = request
  const extra = { ...defaults.extra, ...settings.extra }
  const given = Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined))
  return { ...request, settings: { ...defaults, ...given, ...(Object.keys(extra).length > 0 && { extra }) } }
}
