import { describeUndecided } from '../hook/denial-text.ts'
import type { Io } from '../runtime/io.ts'
import { denyConnections } from './deny-connections.ts'
import { formatFrame, readFrames, SrtViolation, type SrtMessage } from './srt-frames.ts'
import { connectionsOf } from './srt-request.ts'

/** The version of the protocol that this side speaks. */
const PROTO = 1
const MAX_REASON_BYTES = 1024
/** The agent serves 256 connections at once. */
const MAX_PENDING = 64

/**
 * The external decider of `@anthropic-ai/sandbox-runtime` (`srt proxy --decider-in --decider-out`)
 * over standard input and output. srt refuses every pending and later request when the stream ends,
 * so a message outside the protocol ends it: throws `SrtViolation`. `domains` are the only hosts
 * that srt asks about.
 */
export async function serveSrt(io: Io, domains: readonly string[]): Promise<void> {
  const pending = new Set<Promise<void>>()
  let lastId = 0
  let isGreeted = false
  const send = (message: object): void => void io.stdout.write(formatFrame(message))
  const answer = async (id: number, message: SrtMessage): Promise<void> =>
    send({ t: 'verdict', id, ...(await verdictOf(message, io)) })
  try {
    for await (const message of readFrames(io.stdin as AsyncIterable<Buffer>)) {
      if (!isGreeted) {
        greet(message)
        send({ t: 'hello', proto: PROTO, allowedDomains: domains, deniedDomains: [] })
        isGreeted = true
        continue
      }
      const id = idOf(message, lastId)
      lastId = id
      const answered = answer(id, message)
      pending.add(answered)
      void answered.finally(() => pending.delete(answered))
      if (pending.size >= MAX_PENDING) await Promise.race(pending)
    }
  } finally {
    await Promise.all(pending)
  }
}

function greet(message: SrtMessage): void {
  const { t, proto } = message
  if (t !== 'hello' || Object.keys(message).length !== 2)
    throw new SrtViolation('the first message is no hello')
  if (proto !== PROTO)
    throw new SrtViolation(`srt speaks version ${JSON.stringify(proto)}; this side speaks ${PROTO}`)
}

function idOf({ t, id }: SrtMessage, lastId: number): number {
  if (t !== 'req') throw new SrtViolation('a message is neither hello nor req')
  if (typeof id !== 'number' || !Number.isSafeInteger(id) || id <= lastId)
    throw new SrtViolation('the ids of the requests do not increase')
  return id
}

type Verdict =
  | { readonly action: 'allow' }
  | { readonly action: 'deny'; readonly status: number; readonly reason: string }

/** Never rejects. */
async function verdictOf(message: SrtMessage, io: Io): Promise<Verdict> {
  const connections = connectionsOf(message)
  if (typeof connections === 'string') return deny(400, describeUndecided(connections))
  const denial = await denyConnections(connections, io)
  if (denial === null) return { action: 'allow' }
  return deny(denial.isByPolicy ? 403 : 503, denial.text)
}

/** srt ends the stream at a longer reason. */
function deny(status: number, text: string): Verdict {
  let reason = text
  while (Buffer.byteLength(reason) > MAX_REASON_BYTES) reason = reason.slice(0, -16)
  return { action: 'deny', status, reason: reason.toWellFormed() }
}
