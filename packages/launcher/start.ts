// `npm start`: everything on one machine. Started by run.mjs with the chosen Node, which strips
// types.
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runMachine } from './machine/run-machine.ts'
import { LaunchError } from './prepare/launch-error.mjs'

const USAGE = `usage: npm start [-- OPTIONS]

Starts the server and an agent that is enrolled to it, on this machine.

  --demo    run the worked example against real programs, in a temporary directory
  --json    with --demo: print the rows as JSON
  --help    this page

Environment:
  PALISADE_HOST, PALISADE_PORT   where the server listens (127.0.0.1, 8420)
  PALISADE_PROXY_PORT            the agent's proxy on 127.0.0.1 (the port after that of the
                                 server; 0 for any free one)
  PALISADE_DATA_DIR              data, logs and the machine's token file (.palisade)
  PALISADE_ORG, PALISADE_OWNER   names of the first organization and its owner (acme, alice)

Examples:
  npm start
  PALISADE_PORT=9000 PALISADE_DATA_DIR=/tmp/try npm start
  npm start -- --demo
`

const KNOWN = new Set(['--demo', '--json', '--help', '-h'])

/** Returns the exit code. */
async function main(args: readonly string[]): Promise<number> {
  if (args.includes('--help') || args.includes('-h')) {
    process.stdout.write(USAGE)
    return 0
  }
  const wrong = args.find((arg) => !KNOWN.has(arg))
  if (wrong !== undefined)
    throw new LaunchError(`unknown argument \`${wrong}\`\n\n${USAGE}`.trimEnd(), 2)
  const demo = args.includes('--demo')
  const json = args.includes('--json')
  if (json && !demo) throw new LaunchError(`\`--json\` needs \`--demo\`\n\n${USAGE}`.trimEnd(), 2)
  const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
  const node = process.execPath
  if (demo) {
    const { runDemo } = await import('../../examples/demo/run-demo.ts')
    return runDemo({ root, node, env: process.env, json })
  }
  const dataDir = process.env['PALISADE_DATA_DIR'] ?? join(root, '.palisade')
  const surroundings = { root, node, dataDir, cwd: process.cwd(), env: process.env }
  return runMachine(surroundings, (text) => process.stdout.write(text))
}

// If the reader goes away, as with `npm start | head`, server and agent must still be stopped.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
try {
  process.exitCode = await main(process.argv.slice(2))
} catch (error) {
  const message = error instanceof LaunchError ? error.message : String(error)
  process.stderr.write(`palisade: ${message}\n`)
  process.exitCode = error instanceof LaunchError ? error.exitCode : 1
}
