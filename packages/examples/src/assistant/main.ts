import { fileURLToPath } from 'node:url'
import { RunController } from '@koagent/core'
import { cli } from './cli.ts'

const controller = new RunController()

// The run ends in order; a second Ctrl-C ends the process at once.
process.once('SIGINT', () => {
  // The terminal has just put ^C into the current line.
  if (process.stdout.isTTY) process.stdout.write('\n')
  controller.cancel('interrupted')
})
process.once('SIGTERM', () => controller.cancel('terminated'))
// Nobody reads any more, such as `npm start | head`.
process.stdout.on('error', () => controller.cancel('nobody reads the output'))

process.exitCode = await cli(process.argv.slice(2), {
  environment: process.env,
  root: fileURLToPath(new URL('../../../..', import.meta.url)),
  controller,
  terminal: process.stdout,
})
