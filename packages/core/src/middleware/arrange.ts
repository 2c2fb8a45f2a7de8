import type { Layer } from '../chain/layer.ts'
import { ConfigError } from '../errors.ts'
import type { StateKey } from '../state.ts'
import type { Tool } from '../tool/define.ts'
import { checkShape } from './middleware.ts'
import type { AnyMiddleware } from './middleware.ts'
import { unwrap } from './wrap.ts'

type Narrowing = Pick<Layer, 'conditions' | 'filters'>

/**
 * Flattens stacks and wrappers into layers, outermost first, and checks what can be checked before anything runs.
 *
 * @param outer the agent's own layers, where these are added to a run inside them
 * @throws ConfigError that names the culprits and the fix
 */
export function arrange(list: readonly AnyMiddleware[], outer: readonly Layer[] = []): readonly Layer[] {
  const layers = [...outer]
  const add = (middleware: AnyMiddleware, narrowing: Narrowing): void => {
    checkShape(middleware)
    const wrapper = unwrap(middleware)
    if (!wrapper) {
      layers.push({ index: layers.length, name: middleware.name, middleware, errors: middleware.errors ?? 'raise', ...narrowing })
      return
    }
    const { predicate, tools } = wrapper
    const inner = {
      conditions: predicate ? [...narrowing.conditions, { predicate }] : narrowing.conditions,
      filters: tools ? [...narrowing.filters, tools] : narrowing.filters,
    }
    for (const member of wrapper.members) add(member, inner)
  }
  for (const middleware of list) add(middleware, { conditions: [], filters: [] })
  checkLayers(layers)
  return layers
}

function checkLayers(layers: readonly Layer[]): void {
  const places = new Map(layers.map(({ name, index }) => [name, index]))
  const provided = new Map<string, StateKey>()
  for (const { index, name, middleware } of layers) {
    const fault = (text: string): ConfigError => new ConfigError(`middleware '${name}' ${text}`)
    const placeOf = (other: string): number => places.get(other) ?? index
    const { before = [], after = [], requires = [], provides = [] } = middleware
    if (placeOf(name) !== index) throw new ConfigError(`two middlewares have the name '${name}': rename or remove one`)
    for (const other of before) if (placeOf(other) < index) throw fault(`must stand outside '${other}': put it before that`)
    for (const other of after) if (placeOf(other) > index) throw fault(`must stand inside '${other}': put it after that`)
    for (const key of requires)
      if (provided.get(key.name) !== key) throw fault(`requires state '${key.name}', and no middleware further out provides it`)
    for (const key of provides) {
      if ((provided.get(key.name) ?? key) !== key)
        throw fault(`provides another state '${key.name}': share one key, or rename it`)
      provided.set(key.name, key)
    }
  }
}

/** @throws ConfigError when two tools have one name */
export function checkTools(tools: readonly Tool[], layers: readonly Layer[]): void {
  const owners = new Map<string, string>()
  const add = (tool: Partial<Tool> | undefined, owner: string): void => {
    const name = String(tool?.name)
    if (!tool?.schema?.validate) throw new ConfigError(`tool '${name}' of ${owner} is none: make it with defineTool`)
    const other = owners.get(name)
    if (other) throw new ConfigError(`two tools have the name '${name}' (of ${other} and of ${owner}): rename or remove one`)
    owners.set(name, owner)
  }
  for (const tool of tools) add(tool, 'the agent')
  for (const { name, middleware } of layers) for (const tool of middleware.tools ?? []) add(tool, `middleware '${name}'`)
}
