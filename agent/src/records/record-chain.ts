import {
  FIRST_PREVIOUS,
  type DecisionRecord,
  type LossReason,
  type LossRecord,
  type RecordLine,
} from '@palisade/protocol'
import { createHash } from 'node:crypto'
import type { RecordDraft } from './minute-window.ts'
import { recordedDecision } from './recorded-event.ts'

/** Decisions and ended connections without a record. */
export interface Loss {
  readonly lost: number
  readonly reason: LossReason
  /** Epoch milliseconds. */
  readonly atMs: number
}

/** The end of a chain of records: its last line, from which the next one follows. */
export interface ChainEnd {
  readonly boot: string
  /** The number of the last line of this boot; 0 before the first. */
  readonly seq: number
  readonly previous: string
}

/** A record and its line, without the line feed. */
export interface ChainedLine {
  readonly record: RecordLine
  readonly text: string
}

/** The end of an empty chain. */
export function startChain(boot: string, previous: string = FIRST_PREVIOUS): ChainEnd {
  return { boot, seq: 0, previous }
}

/**
 * Adds a line for each entry; `end` stays as it is, so that a failed write can be repeated. Without
 * `salt` the lines have none.
 */
export function extendChain(
  end: ChainEnd,
  entries: readonly (RecordDraft | Loss)[],
  salt?: string,
): { readonly lines: readonly ChainedLine[]; readonly end: ChainEnd } {
  const lines: ChainedLine[] = []
  let { seq, previous } = end
  for (const entry of entries) {
    seq += 1
    const { boot } = end
    const record = 'lost' in entry ? toLoss(entry) : toRecord(entry)
    const salted = salt === undefined ? {} : { salt }
    const chained: RecordLine = { seq, boot, ...salted, ...record, previous }
    const text = formatLine(chained)
    lines.push({ record: chained, text })
    previous = hashLine(text)
  }
  return { lines, end: { ...end, seq, previous } }
}

/** Hash of a line without its line feed. */
export function hashLine(line: string | Uint8Array): string {
  return createHash('sha256').update(line).digest('hex')
}

function toLoss({ lost, reason, atMs }: Loss): Omit<LossRecord, keyof ChainMembers> {
  return { time: formatInstant(atMs), lost, reason }
}

function toRecord(draft: RecordDraft): Omit<DecisionRecord, keyof ChainMembers> {
  const { event, program, sinceMs, untilMs, count, flow } = draft
  const { point, protocol, sandbox, decision } = event
  return {
    time: formatInstant(sinceMs),
    ...(count === 1 ? {} : { until: formatInstant(untilMs) }),
    point,
    protocol,
    ...(sandbox === undefined ? {} : { sandbox }),
    decision: recordedDecision(decision) as DecisionRecord['decision'],
    count,
    ...(program === null ? {} : { program }),
    ...(flow === null
      ? {}
      : {
          flow: {
            bytes_sent: flow.bytesSent,
            bytes_received: flow.bytesReceived,
            duration_ms: Math.round(flow.durationMs),
            cause: flow.cause,
          },
        }),
  }
}

/** Members that depend on the position of a line. */
type ChainMembers = Pick<RecordLine, 'seq' | 'boot' | 'salt' | 'previous'>

function formatInstant(ms: number): string {
  return new Date(ms).toISOString()
}

/**
 * Characters that a terminal interprets, beyond those that JSON.stringify escapes: someone will
 * print a file of records with `cat`.
 */
const ACTIVE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

function formatLine(line: RecordLine): string {
  return JSON.stringify(line).replace(ACTIVE, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  )
}
