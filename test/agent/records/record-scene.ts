import type { RecordLine, RecordedProgram } from '@palisade/protocol'
import { recordLineSchema } from '@palisade/protocol'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { createProgramLookup } from '../../../agent/src/host/process-lookup/program-lookup.ts'
import { createRecordDisk, type RecordDisk } from '../../../agent/src/records/record-disk.ts'
import {
  createRecordWriter,
  type RecordWriter,
  type SegmentLimits,
} from '../../../agent/src/records/record-writer.ts'
import {
  createRecorder,
  type Recorder,
  type RecorderLimits,
} from '../../../agent/src/records/recorder.ts'
import type { RecordedEvent } from '../../../agent/src/records/recorded-event.ts'
import { NOW_MS } from '../fixture/bundle.ts'
import { temporaryDirectory } from '../fixture/temporary-directory.ts'

export const LIMITS: RecorderLimits & SegmentLimits = {
  windowMs: 60_000,
  tickMs: 1,
  maxTuples: 10_000,
  maxSegmentBytes: 4_000_000,
  maxSegmentMs: 86_400_000,
  maxTotalBytes: 64_000_000,
  maxAgeMs: 6 * 86_400_000,
  maxSegments: 1_000,
}

export interface RecordScene {
  readonly directory: string
  readonly disk: RecordDisk
  readonly writer: RecordWriter
  readonly recorder: Recorder
  readonly failures: unknown[]
  /** Ends of connections that were looked up. */
  readonly lookedUp: number[]
}

export interface SceneOptions {
  readonly directory?: string
  readonly boot?: string
  readonly limits?: Partial<RecorderLimits & SegmentLimits>
  readonly now?: () => number
  readonly disk?: (disk: RecordDisk) => RecordDisk
  readonly programs?: ReadonlyMap<number, RecordedProgram>
}

/** A recorder on a real directory, with a clock that a test sets. */
export async function startRecorder(options: SceneOptions = {}): Promise<RecordScene> {
  const { boot = 'boot-1', now = () => NOW_MS, programs = new Map() } = options
  const directory = options.directory ?? join(await temporaryDirectory(), 'records')
  const limits = { ...LIMITS, ...options.limits }
  const real = createRecordDisk(directory)
  const disk = options.disk?.(real) ?? real
  const writer = createRecordWriter({ disk, boot, limits, now })
  const failures: unknown[] = []
  const lookedUp: number[] = []
  const recorder = createRecorder({
    writer,
    programs: createProgramLookup(
      async (ends) => {
        lookedUp.push(...ends.map(({ port }) => port))
        return ends.map(({ port }) => programs.get(port) ?? null)
      },
      () => 0,
    ),
    limits,
    now,
    random: () => 0,
    onFailure: (error) => failures.push(error),
  })
  onTestFinished(() => recorder.stop())
  return { directory, disk, writer, recorder, failures, lookedUp }
}

/** A denial of the proxy, for a host of its own. */
export function denial(host: string, change: Partial<RecordedEvent> = {}): RecordedEvent {
  return {
    point: 'proxy',
    protocol: 'connect',
    decision: {
      decision: 'deny',
      reason: 'default_deny',
      rules: [],
      request: { action: 'connect:tcp', host, port: 443 },
      revision: 7,
      stale: false,
      hint: `allow connect:tcp ${host}:443`,
    },
    client: null,
    ...change,
  }
}

/** All complete lines of all files, the oldest first. */
export async function readLines(directory: string): Promise<readonly string[]> {
  const names = (await readdir(directory)).filter((name) => name.endsWith('.jsonl'))
  const texts: string[] = []
  for (const name of names.toSorted()) texts.push(await readFile(join(directory, name), 'utf8'))
  return texts.flatMap((text) => text.split('\n').slice(0, -1))
}

export async function readRecords(directory: string): Promise<readonly RecordLine[]> {
  return (await readLines(directory)).map((line) => recordLineSchema.parse(JSON.parse(line)))
}

/** Events that the records count, lost ones too. */
export function countEvents(records: readonly RecordLine[]): number {
  return records.reduce((sum, line) => sum + ('count' in line ? line.count : line.lost), 0)
}
