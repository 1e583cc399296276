import { once } from 'node:events'
import { connect } from 'node:net'
import { readClientBytes, type ClientBytes } from '../../proxy/client-bytes.ts'
import { CANARY_ADDRESS, type Canary } from './canaries.ts'
import type { CanaryTexts } from './canary-server.ts'

/** A proxy, and the canaries that one probe asks it for. */
export interface ProbeScene {
  readonly proxyPort: number
  readonly canary: Pick<Canary, 'allowed' | 'refused' | 'ports'>
  readonly texts: CanaryTexts
  /** False where the proxy must grant no association for datagrams. */
  readonly carriesDatagrams: boolean
  /** For each connection to the proxy. */
  readonly timeoutMs: number
}

/**
 * Asks the proxy for both canaries in one dialect. Returns the problem for people, or null. Rejects
 * when the proxy cannot be reached.
 */
export type Dialect = (scene: ProbeScene) => Promise<string | null>

/** One authority to ask for, and the text for it. */
export interface Question {
  readonly proxyPort: number
  readonly host: string
  readonly port: number
  readonly text: string
  readonly timeoutMs: number
}

export type Outcome =
  | { readonly kind: 'denied' }
  /** All bytes that came from the target. */
  | { readonly kind: 'answered'; readonly answer: string }
  /** `detail` is for people. */
  | { readonly kind: 'failed'; readonly detail: string }

const MAX_ANSWER_BYTES = 65_536
const MAX_DETAIL_LENGTH = 200

/** A dialect that carries streams: one connection for each canary. */
export function overStreams(ask: (question: Question) => Promise<Outcome>): Dialect {
  return async ({ proxyPort, canary, texts, timeoutMs }) => {
    const to = { proxyPort, port: canary.ports['connect:tcp'], timeoutMs }
    const denied = await ask({ ...to, host: canary.refused, text: texts.refused })
    if (denied.kind !== 'denied')
      return `the refused canary was not denied: ${describeOutcome(denied)}`
    const passed = await ask({ ...to, host: canary.allowed, text: texts.allowed })
    if (passed.kind !== 'answered')
      return `the allowed canary did not pass: ${describeOutcome(passed)}`
    return passed.answer.endsWith(texts.answer) ? null : FOREIGN_ANSWER
  }
}

export const FOREIGN_ANSWER = 'the allowed canary was answered with other bytes'

/** Speaks with the proxy on a connection of its own. Rejects when it cannot be reached. */
export async function converse<T>(
  { proxyPort, timeoutMs }: Pick<Question, 'proxyPort' | 'timeoutMs'>,
  speak: (proxy: ClientBytes) => Promise<T>,
): Promise<T> {
  const socket = connect({ port: proxyPort, host: CANARY_ADDRESS })
  socket.on('error', () => socket.destroy())
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(timeoutMs) })
    const proxy = readClientBytes(socket, timeoutMs)
    try {
      return await speak(proxy)
    } finally {
      proxy.release()
    }
  } finally {
    socket.destroy()
  }
}

/** All that the proxy sends until it closes, or far too much. */
export async function readRest(proxy: ClientBytes): Promise<string> {
  return (await proxy.peek(MAX_ANSWER_BYTES)).toString('latin1')
}

function describeOutcome(outcome: Outcome): string {
  switch (outcome.kind) {
    case 'denied':
      return 'it was denied'
    case 'answered':
      return 'a connection was opened'
    case 'failed':
      return outcome.detail.slice(0, MAX_DETAIL_LENGTH)
  }
}
