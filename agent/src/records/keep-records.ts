import type { Enrolment, LogVerification } from '@palisade/protocol'
import { createHash, randomUUID } from 'node:crypto'
import type { AgentLog } from '../host/agent-log.ts'
import type { StreamReader } from '../http/stream-answer.ts'
import { createFindClientPrograms } from '../host/process-lookup/find-client-programs.ts'
import { createProgramLookup } from '../host/process-lookup/program-lookup.ts'
import type { TcpEndpoint } from '../host/process-lookup/tcp-table.ts'
import { createRecordDisk, type RecordDisk } from './record-disk.ts'
import { createRecordWriter, type SegmentLimits } from './record-writer.ts'
import { createRecorder, type Recorder, type RecorderLimits } from './recorder.ts'
import { streamLog, type LogQuery } from './stream-log.ts'
import { verifyRecords } from './verify-records.ts'

const MIB = 1024 * 1024
const DAY_MS = 24 * 60 * 60_000

/** Together, no line is kept for more than seven days. */
const LIMITS: RecorderLimits & SegmentLimits = {
  windowMs: 60_000,
  tickMs: 250,
  maxTuples: 10_000,
  maxSegmentBytes: 4 * MIB,
  maxSegmentMs: DAY_MS,
  maxTotalBytes: 64 * MIB,
  maxAgeMs: 6 * DAY_MS,
  maxSegments: 1_000,
}

/** The records, for the part that uploads them. */
export interface KeptRecords {
  readonly recorder: Pick<Recorder, 'subscribe'>
  readonly disk: Pick<RecordDisk, 'list' | 'open'>
  /** Id of this start. */
  readonly boot: string
  /** End of the ids of all starts for the organization of this enrolment. */
  readonly owner: string
}

/** The decision records of this machine, their writer and their readers. */
export interface Records {
  readonly recorder: Recorder
  readonly kept: KeptRecords
  /** Lines of the decision records, each with its line feed. */
  readonly log: (query: LogQuery, reader: StreamReader) => AsyncIterable<string>
  readonly verifyLog: () => Promise<LogVerification>
}

/** The decision records of this machine in one directory. */
export function keepRecords(deps: {
  readonly directory: string
  readonly enrolment: Pick<Enrolment, 'server' | 'org'>
  /** The end that programs connect to. */
  readonly proxy: () => TcpEndpoint
  /** Epoch milliseconds. */
  readonly now: () => number
  /** Monotonic milliseconds. */
  readonly uptime: () => number
  /** 0 to 1, exclusive. */
  readonly random: () => number
  readonly log: Pick<AgentLog, 'warn'>
}): Records {
  const { now, uptime, random, log } = deps
  const disk = createRecordDisk(deps.directory)
  const owner = formatOwner(deps.enrolment)
  const boot = `${randomUUID()}${owner}`
  const writer = createRecordWriter({ disk, boot, salt: randomUUID(), limits: LIMITS, now })
  const recorder = createRecorder({
    writer,
    programs: createProgramLookup(createFindClientPrograms(deps.proxy), uptime),
    limits: LIMITS,
    now,
    random,
    onFailure: (err) => log.warn({ err }, 'decision records cannot be written'),
  })
  return {
    recorder,
    kept: { recorder, disk, boot, owner },
    log: (query, reader) => streamLog({ disk, recorder }, query, reader),
    async verifyLog() {
      await recorder.flush()
      return verifyRecords(disk, writer.head())
    },
  }
}

/**
 * The directory outlives an enrolment. The records of a start belong to the organization for which
 * it decided, and the id of the start is in each of them.
 */
function formatOwner({ server, org }: Pick<Enrolment, 'server' | 'org'>): string {
  const hash = createHash('sha256').update(JSON.stringify([server, org]))
  return `-${hash.digest('hex').slice(0, 16)}`
}
