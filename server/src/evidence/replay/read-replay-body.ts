import { DEFAULT_REPLAY_DAYS, MAX_REPLAY_DAYS, replaySpanSchema } from '@palisade/protocol'
import { z } from 'zod'
import { readInput } from '../../http/body/read-body.ts'
import { invalidArgument } from '../../platform/api-error.ts'
import type { ReplayJob } from './replay-job.ts'

const DAY_MS = 24 * 60 * 60_000
const MAX_SPAN_MS = MAX_REPLAY_DAYS * DAY_MS

const SPAN = Object.keys(replaySpanSchema.shape)
const looseSchema = z.record(z.string(), z.unknown())

/** Splits the body: the rest is a document as `apply` takes it. Throws ApiError 400. */
export function readReplayBody(body: unknown) {
  // Not the result of the schema, which drops a member `__proto__` that must be refused.
  readInput(looseSchema, body)
  const members = Object.entries(body as object)
  const isSpan = ([name]: [string, unknown]): boolean => SPAN.includes(name)
  const span = readInput(replaySpanSchema, Object.fromEntries(members.filter(isSpan)))
  if (members.some(([name]) => name === 'dry_run'))
    throw invalidArgument('a replay never applies its document; leave out `dry_run`', {
      field: 'dry_run',
    })
  return { span, json: Object.fromEntries(members.filter((member) => !isSpan(member))) }
}

/** The time of a span, in epoch milliseconds. Throws ApiError 400. */
export function readReplayTime(
  { days, from, to }: z.output<typeof replaySpanSchema>,
  nowMs: number,
): Pick<ReplayJob, 'fromMs' | 'toMs'> {
  if (days !== undefined && from !== undefined)
    throw invalidArgument('write either `days` or `from`', { field: 'days' })
  const toMs = to === undefined ? nowMs : Date.parse(to)
  const fromMs =
    from === undefined ? toMs - (days ?? DEFAULT_REPLAY_DAYS) * DAY_MS : Date.parse(from)
  if (fromMs >= toMs) throw invalidArgument('must be before `to`', { field: 'from' })
  if (toMs - fromMs > MAX_SPAN_MS)
    throw invalidArgument(`must be at most ${MAX_REPLAY_DAYS} days before \`to\``, {
      field: 'from',
    })
  return { fromMs, toMs }
}
