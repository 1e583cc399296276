import type { AgentStatus, LogVerification } from '@palisade/protocol'
import { join } from 'node:path'
import { askAgent } from '../agent/ask-agent.ts'
import { dataDirectory } from '../agent/start-advice.ts'
import { CliError } from '../runtime/cli-error.ts'
import { EXIT } from '../runtime/exit-code.ts'
import type { AgentIo, Io } from '../runtime/io.ts'
import { formatAge } from '../terminal/age.ts'
import { count } from '../terminal/count.ts'
import { fail, ok, skip, warn, type Check } from './check.ts'

type Records = NonNullable<AgentStatus['records']>
type LossReason = NonNullable<Records['last_loss']>['reason']

/** An older loss needs no attention. */
const RECENT_LOSS_MS = 24 * 3_600_000

const LOSS_MENDS: Readonly<Record<LossReason, string>> = {
  queue_full: '`palisade log` shows which program asks for so many different targets',
  write_failed: 'free space on the disk of the records, and look into the log of the agent',
  torn_line: 'stop the agent with SIGTERM, and let it end by itself',
  unreadable: '`palisade log --verify` names the file; leave the directory to the agent',
}

/**
 * Checks of the decision records. The agent writes what it holds back before it verifies its
 * records.
 */
export async function checkRecords(io: AgentIo & Pick<Io, 'now'>): Promise<readonly Check[]> {
  try {
    const verification = await askAgent(io, EXIT.failed, (agent) => agent.verifyLog())
    const { records } = await askAgent(io, EXIT.failed, (agent) => agent.status())
    const directory = join(dataDirectory(io), 'agent', 'records')
    return [checkWriting(records, directory, io.now()), checkChain(verification, directory)]
  } catch (error) {
    if (!(error instanceof CliError)) throw error
    return [warn('records', error.message, 'try again, or update the agent')]
  }
}

/** Whether the records are written, and whether any were lost within a day. */
export function checkWriting(
  records: Records | undefined,
  directory: string,
  nowMs: number,
): Check {
  if (records === undefined) return skip('records', 'this agent does not describe them')
  const { error, written, lost, last_loss: loss = null } = records
  if (error !== null)
    return fail('records', `cannot be written (${error})`, mendWriting(error, directory))
  if (loss !== null && nowMs - Date.parse(loss.at) < RECENT_LOSS_MS) {
    const detail = `${count(lost, 'decision')} lost, the last ${formatAge(loss.at, nowMs)}`
    return warn('records', `${detail} (${loss.reason})`, LOSS_MENDS[loss.reason])
  }
  if (written === 0) return ok('records', 'no decision was made since the start of the agent')
  return ok('records', lost === 0 ? 'are written' : `are written; ${lost} were lost before`)
}

function mendWriting(error: string, directory: string): string {
  switch (error) {
    case 'ENOSPC':
    case 'EDQUOT':
      return `free space for \`${directory}\`; the agent then writes again by itself`
    case 'EROFS':
      return `make \`${directory}\` writable, or move PALISADE_DATA_DIR to another disk`
    default:
      return `make \`${directory}\` a directory of this user that is closed to others`
  }
}

/** Whether the kept records are those that the agent wrote. */
export function checkChain(
  { intact, lines, faults: [first] }: LogVerification,
  directory: string,
): Check {
  if (intact) return ok('record-chain', `${count(lines, 'record')} verified`)
  const detail = first === undefined ? '' : `: ${first.file}, line ${first.line} (${first.fault})`
  const mend = `keep a copy of \`${directory}\` as evidence; \`palisade log --verify\` tells more`
  return fail('record-chain', `the records were changed${detail}`, mend)
}
