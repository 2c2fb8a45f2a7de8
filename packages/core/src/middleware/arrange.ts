import type { Layer } from '../chain/layer.ts'
import { ConfigError } from '../errors.ts'
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
  checkNames(layers)
  for (const layer of layers) checkPlace(layer, layers)
  checkState(layers)
  return layers
}

function checkNames(layers: readonly Layer[]): void {
  const seen = new Set<string>()
  for (const { name } of layers) {
    if (seen.has(name))
      throw new ConfigError(`two middlewares have the name '${name}': remove one, or give them names of their own`)
    seen.add(name)
  }
}

function checkPlace({ index, name, middleware }: Layer, layers: readonly Layer[]): void {
  const place = new Map(layers.map((layer) => [layer.name, layer.index]))
  for (const other of middleware.before ?? []) {
    const at = place.get(other)
    if (at !== undefined && at < index)
      throw new ConfigError(`middleware '${name}' must stand outside '${other}': put it before '${other}' in the list`)
  }
  for (const other of middleware.after ?? []) {
    const at = place.get(other)
    if (at !== undefined && at > index)
      throw new ConfigError(`middleware '${name}' must stand inside '${other}': put it after '${other}' in the list`)
  }
}

function checkState(layers: readonly Layer[]): void {
  const provided = new Map<string, unknown>()
  for (const { name, middleware } of layers) {
    for (const key of middleware.requires ?? []) {
      if (provided.get(key.name) !== key) {
        throw new ConfigError(`middleware '${name}' requires state '${key.name}', and no middleware further out provides it`)
      }
    }
    for (const key of middleware.provides ?? []) {
      if (provided.has(key.name) && provided.get(key.name) !== key) {
        throw new ConfigError(
          `middleware '${name}' provides a second state key with the name '${key.name}': share one key, or rename it`,
        )
      }
      provided.set(key.name, key)
    }
  }
}

/** @throws ConfigError when two tools have one name */
export function checkTools(tools: readonly Tool[], layers: readonly Layer[]): void {
  const owners = new Map<string, string>()
  const add = (tool: Tool, owner: string): void => {
    if (typeof (tool as Partial<Tool> | null | undefined)?.schema?.validate !== 'function') {
      throw new ConfigError(
        `a tool ${owner} (${(tool as Partial<Tool> | null)?.name ?? String(tool)}) is none: make it with defineTool`,
      )
    }
    const other = owners.get(tool.name)
    if (other !== undefined)
      throw new ConfigError(`two tools have the name '${tool.name}' (${other} and ${owner}): rename or remove one`)
    owners.set(tool.name, owner)
  }
  for (const tool of tools) add(tool, 'of the agent')
  for (const { name, middleware } of layers) for (const tool of middleware.tools ?? []) add(tool, `of middleware '${name}'`)
}
