import type { BreakGlassResult } from '@palisade/protocol'
import type { Command } from 'commander'
import { askAgent } from '../agent/ask-agent.ts'
import { EXIT } from '../runtime/exit-code.ts'
import { readTextFile } from '../runtime/file-argument.ts'
import { present, type RunContext } from '../runtime/run-context.ts'
import type { Style } from '../terminal/style.ts'
import { addGrantCommands } from './grant-commands.ts'

/** Far above the agent's limit, so that the agent itself refuses a large grant. */
const MAX_READ_BYTES = 1024 * 1024

interface UseOptions {
  readonly json?: true
}

/** `palisade break-glass` */
export function addBreakGlassCommands(program: Command, context: RunContext): void {
  const breakGlass = program
    .command('break-glass')
    .summary('let a machine use its expired policies for a while')
    .description(
      'For a machine that cannot reach the server: let its expired policies apply for a while.',
    )
    .helpCommand(false)
    .addHelpText(
      'after',
      `
Examples:
  palisade break-glass issue 0b9f… --reason "office is offline" --for 4h --out grant.json
  palisade break-glass use grant.json`,
    )
  addGrantCommands(breakGlass, context)
  addUse(breakGlass, context)
  addEnd(breakGlass, context)
}

function addUse(breakGlass: Command, context: RunContext): void {
  breakGlass
    .command('use')
    .summary('begin a grant on this machine')
    .description('Let the agent of this machine begin a grant: its expired policies apply again.')
    .argument('<file>', 'grant file that `palisade break-glass issue` wrote for this machine')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
A grant can be begun once. Requests that the policies deny stay denied. Status, log, every decision
and the server report that the grant is in force, and why.

While the policies are fresh, the agent refuses the grant, which stays valid. While they are stale,
they still apply, and a grant can be begun only if they expire before it would end.

Exit codes: 0 begun, 1 refused, 2 the file cannot be read

Examples:
  palisade break-glass use grant.json`,
    )
    .action(async (file: string, { json }: UseOptions) => {
      const text = await readTextFile(context.io, file, MAX_READ_BYTES)
      const result = await askAgent(context.io, EXIT.failed, (agent) => agent.beginBreakGlass(text))
      await answer(context, json, result)
    })
}

function addEnd(breakGlass: Command, context: RunContext): void {
  breakGlass
    .command('end')
    .summary('end the grant in force on this machine')
    .description('End the grant in force on this machine before its time; it cannot be used again.')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Exit codes: 0 ended, 1 no grant is in force, or its end could not be recorded

Examples:
  palisade break-glass end`,
    )
    .action(async ({ json }: UseOptions) => {
      const result = await askAgent(context.io, EXIT.failed, (agent) => agent.endBreakGlass())
      await answer(context, json, result)
    })
}

async function answer(
  context: RunContext,
  json: true | undefined,
  result: BreakGlassResult,
): Promise<void> {
  context.exit(result.outcome === 'failed' ? EXIT.failed : EXIT.ok)
  await present(context, json, result, () => formatResult(result, context.style))
}

function formatResult({ outcome, grant, error }: BreakGlassResult, style: Style): string {
  const inForce = grant === null ? '' : style.plain(` until ${grant.until}: ${grant.reason}`)
  switch (outcome) {
    case 'begun':
      return `${style.warning('break-glass')}  a grant is in force${inForce}\n`
    case 'ended':
      return `${style.good('ended')}  no grant is in force\n`
    case 'failed': {
      const why = error === null ? 'no reason given' : `${error.message} (${error.code})`
      return `${style.bad('failed')}  ${style.plain(why)}\n`
    }
  }
}
