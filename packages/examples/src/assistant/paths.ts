import { realpath } from 'node:fs/promises'
import { isAbsolute, join, normalize, parse, relative, resolve, sep } from 'node:path'
import { defineMiddleware, deny } from '@koagent/core'
import type { Middleware } from '@koagent/core'

/**
 * Keeps the `path` of every tool call inside one folder: a path that leads out is taken as if the folder were all there is, so that
 * `../../notes.txt` and `/notes.txt` become `notes.txt`. A link that leads out is blocked.
 */
export function paths(root: string): Middleware {
  return defineMiddleware({
    name: 'paths',
    async before_tool(ctx, next) {
      const { path } = ctx.args
      if (typeof path !== 'string') return next()
      const inside = isInside(root, resolve(root, path)) ? path : rerooted(path)
      if (inside !== path) {
        ctx.args = { ...ctx.args, path: inside }
        ctx.addContext(`'${path}' is outside of the repository; '${inside}' was taken.`)
      }
      const [realRoot, target] = await Promise.all([realpath(root), realpath(resolve(root, inside)).catch(() => undefined)])
      if (target !== undefined && !isInside(realRoot, target)) return deny(`'${inside}' leads out of the repository`)
      return next()
    },
  })
}

function isInside(root: string, target: string): boolean {
  const way = relative(root, target)
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)
}

function rerooted(path: string): string {
  return normalize(join(sep, path.slice(parse(path).root.length))).slice(sep.length) || '.'
}
