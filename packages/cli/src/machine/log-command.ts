import {
  DEFAULT_LOG_LIMIT,
  MAX_LOG_LIMIT,
  type LogVerification,
  type RecordLine,
} from '@palisade/protocol'
import type { Command } from 'commander'
import { askAgent } from '../agent/ask-agent.ts'
import { usageError } from '../runtime/cli-error.ts'
import { EXIT } from '../runtime/exit-code.ts'
import { present, type RunContext } from '../runtime/run-context.ts'
import { write } from '../runtime/write.ts'
import { count } from '../terminal/count.ts'
import { jsonLine } from '../terminal/printable.ts'
import { WIDE, type Style } from '../terminal/style.ts'
import { formatRecord, formatRecordHead } from './format-record.ts'

interface LogCommandOptions {
  readonly follow?: true
  readonly denied?: true
  readonly limit: string
  readonly verify?: true
  readonly json?: true
}

/** `palisade log` */
export function addLogCommand(program: Command, context: RunContext): void {
  program
    .command('log')
    .summary('show what programs on this machine were allowed and denied')
    .description('Show the decision records of this machine, the oldest of them first.')
    .option('-f, --follow', 'go on with each decision as it is made, until Ctrl-C')
    .option('--denied', 'show denials only')
    .option('--limit <number>', 'newest records to begin with', String(DEFAULT_LOG_LIMIT))
    .option('--verify', 'check the hash chain of all records instead')
    .option(...WIDE)
    .option('--json', 'print one JSON object a line')
    .addHelpText(
      'after',
      `
Equal decisions of one minute are summed up: the first appears at once, and the number of others
after the minute, in COUNT. A record with bytes is the end of a connection, which was counted when
it began. Records are kept for a week, 64 MiB at most.

\`--verify\` finds changed and missing lines from the oldest kept record on, and that it is not the
oldest that the agent has kept. To find that the newest ones were deleted while no agent ran,
compare \`head\` with one that was noted elsewhere.

Exit codes: 0 done, also after Ctrl-C; 1 the agent did not answer, or \`--verify\` found a fault;
            2 wrong usage

Examples:
  palisade log --denied --limit 20
  palisade log --follow
  palisade log --json --limit 10000 | jq 'select(.decision.decision == "deny").decision.request'
  palisade log --verify`,
    )
    .action(async (options: LogCommandOptions) => {
      if (options.verify === true) await verify(context, options)
      else await show(context, options)
    })
}

async function show(context: RunContext, options: LogCommandOptions): Promise<void> {
  const { io, style } = context
  const { follow, denied, json } = options
  const limit = readLimit(options.limit)
  const signal = follow === true ? io.interruption() : undefined
  const format = json === true ? jsonLine : (line: RecordLine) => formatRecord(line, style)
  const printed = await askAgent(io, EXIT.failed, async (agent) => {
    let lines = 0
    for await (const line of agent.log({ limit, denied, follow, signal })) {
      const head = lines === 0 && json !== true ? formatRecordHead(style) : ''
      // The reader has gone, such as `| head`.
      if (!(await write(io.stdout, head + format(line)))) break
      lines += 1
    }
    return lines
  })
  if (printed === 0 && json !== true && follow !== true)
    await write(io.stdout, `no ${denied === true ? 'denial' : 'decision'} is recorded yet\n`)
}

async function verify(context: RunContext, options: LogCommandOptions): Promise<void> {
  if (options.follow === true || options.denied === true)
    throw usageError('`--verify` checks all records; leave out `--follow` and `--denied`')
  const result = await askAgent(context.io, EXIT.failed, (agent) => agent.verifyLog())
  if (!result.intact) context.exit(EXIT.failed)
  await present(context, options.json, result, () => formatVerification(result, context.style))
}

function readLimit(text: string): number {
  const limit = Number(text)
  if (!/^\d{1,5}$/.test(text) || limit < 1 || limit > MAX_LOG_LIMIT)
    throw usageError(`\`--limit\` must be a whole number from 1 to ${MAX_LOG_LIMIT}`)
  return limit
}

const FAULTS: Readonly<Record<LogVerification['faults'][number]['fault'], string>> = {
  malformed: 'is not a record',
  broken_chain: 'does not follow from the line before: one was changed or removed',
  wrong_sequence: 'has a wrong number',
  missing_start: 'is not the oldest: others before it were removed, and not by the agent',
  wrong_head: 'is not the last line that the agent wrote',
  unreadable: 'cannot be read, from here to the end of the file',
}

function formatVerification(
  { intact, lines, files, lost, faults, head }: LogVerification,
  style: Style,
): string {
  const verdict = intact ? style.good('intact') : style.bad('damaged')
  const all = `${count(lines, 'record')} in ${count(files, 'file')}`
  return [
    `${verdict}  ${all}${lost === 0 ? '' : `, ${lost} lost and counted`}`,
    ...faults.map(({ file, line, fault }) =>
      style.plain(`  ${file}, line ${line}: ${FAULTS[fault]} (${fault})`),
    ),
    ...(head === null ? [] : [style.quiet(`head ${head}`)]),
  ]
    .map((line) => `${line}\n`)
    .join('')
}
