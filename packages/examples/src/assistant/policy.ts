import { defineMiddleware, deny } from '@koagent/core'
import type { Middleware } from '@koagent/core'

/** What the caller of a run vouches for. */
export interface PolicyMetadata {
  /** A person has said yes to dangerous commands. */
  readonly approved?: boolean
}

/** Programs, and what is dangerous about them. */
const programs: Readonly<Record<string, string>> = {
  ...each('rm rmdir unlink shred truncate -delete', 'deletes'),
  ...each('mv cp dd tee install ln', 'overwrites files'),
  ...each('chmod chown', 'changes who may do what'),
  ...each('sudo su doas', 'takes the rights of another user'),
  ...each('kill pkill killall shutdown reboot', 'ends processes'),
  ...each('curl wget nc ssh scp', 'talks to the network'),
  ...each('eval exec source sh bash zsh xargs -exec node python python3 perl', 'runs what cannot be judged here'),
}

/** The same for commands of git and npm. */
const commands: Readonly<Record<string, string>> = {
  ...each('push publish', 'publishes'),
  ...each('reset clean checkout restore rebase commit', 'changes the working tree or its history'),
  ...each('install ci exec run', 'runs what cannot be judged here'),
}

/**
 * Denies dangerous shell commands, unless `metadata.approved`.
 *
 * It goes by words, wherever they stand: better one no too many. It is a rule for a model that errs, not a sandbox for one that attacks.
 */
export const policy: Middleware<PolicyMetadata> = defineMiddleware<PolicyMetadata>({
  name: 'policy',
  on_permission(ctx, next) {
    if (ctx.toolName !== 'run_command' || ctx.metadata.approved) return next()
    const danger = dangerOf(String(ctx.args.command))
    return danger === undefined ? next() : deny(`${danger}, and nobody has approved it`)
  },
})

/** What is dangerous about a command line, if anything. */
export function dangerOf(command: string): string | undefined {
  const hidden = /[$`]/.exec(command)?.[0]
  if (hidden !== undefined) return `'${hidden}' stands for what cannot be judged here`
  // The shell drops quotes and backslashes too: r\m is rm.
  const plain = command.replaceAll(/["'\\]/g, '').replaceAll(/\d?>\s*(?:\/dev\/null\b|&\d)/g, ' ')
  if (plain.includes('>')) return `'>' overwrites files`
  const words = plain.split(/[\s;&|<(){}=]+/)
  const names = words.map((word) => word.slice(word.lastIndexOf('/') + 1))
  for (const [i, name] of names.entries()) {
    if (Object.hasOwn(programs, name)) return `'${name}' ${programs[name]}`
    if (!/^(git|npm|pnpm|yarn|npx)$/.test(name)) continue
    const subcommand = names.slice(i + 1).find((each) => Object.hasOwn(commands, each))
    if (subcommand !== undefined) return `'${name} ${subcommand}' ${commands[subcommand]}`
  }
  const way = words.find((word) => /^[/~]|(?:^|\/)\.\.(?:\/|$)/.test(word))
  return way === undefined ? undefined : `'${way}' leads out of the repository`
}

function each(words: string, danger: string): Record<string, string> {
  return Object.fromEntries(words.split(' ').map((word) => [word, danger]))
}
