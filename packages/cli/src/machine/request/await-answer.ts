import type { AccessRequest, LocalAccessList } from '@palisade/protocol'
import { setTimeout as pause } from 'node:timers/promises'
import { askAgent } from '../../agent/ask-agent.ts'
import { EXIT } from '../../runtime/exit-code.ts'
import type { AgentIo, Io } from '../../runtime/io.ts'

/** The agent keeps the list of the server for some seconds, so asking often is cheap. */
const PAUSE_MS = 500
/** A machine that has not got an approved grant by then has no link to the server. */
const LONGEST_WAY_MS = 10 * 60_000

/** The end of a request, on this machine. */
export interface Awaited {
  readonly outcome: 'in_force' | 'rejected' | 'ended' | 'not_in_force'
  readonly request: AccessRequest
  readonly message: string
}

/** Resolves once the request is answered, and an approved grant is in force on this machine. */
export async function awaitAnswer(
  io: AgentIo & Pick<Io, 'now'>,
  asked: AccessRequest,
): Promise<Awaited> {
  let approvedMs: number | null = null
  for (;;) {
    const list = await askAgent(io, EXIT.failed, (agent) => agent.accessRequests())
    const request = list.requests.find(({ id }) => id === asked.id) ?? asked
    const end = readEnd(request, list)
    if (end !== null) return end
    if (request.state === 'approved') approvedMs ??= io.now()
    if (approvedMs !== null && io.now() - approvedMs > LONGEST_WAY_MS)
      return {
        outcome: 'not_in_force',
        request,
        message: 'approved, but this machine did not get it; run `palisade sync`',
      }
    await pause(PAUSE_MS)
  }
}

/** Null while the answer, or the grant, is still to come. */
function readEnd(request: AccessRequest, { grants }: LocalAccessList): Awaited | null {
  const state = grants.find(({ id }) => id === request.id)?.state
  switch (request.state) {
    case 'pending':
      return null
    case 'approved':
      if (state === 'in_force') return { outcome: 'in_force', request, message: 'in force' }
      if (state === undefined || state === 'not_begun') return null
      return { outcome: 'not_in_force', request, message: `approved, but ${EXPLAINED[state]}` }
    case 'rejected':
      return { outcome: 'rejected', request, message: 'the request was rejected' }
    case 'lapsed':
      return { outcome: 'ended', request, message: 'the request was not answered in time' }
    case 'withdrawn':
      return { outcome: 'ended', request, message: 'the request was withdrawn' }
    case 'revoked':
      return { outcome: 'ended', request, message: 'the access was revoked' }
    case 'expired':
      return { outcome: 'ended', request, message: 'the access has expired' }
  }
}

const EXPLAINED = {
  expired: 'it has expired by the time of this machine',
  spent: 'it was for one use, which this machine has made',
  revoked: 'it was revoked',
  without_effect: 'the policies of this machine do not count; run `palisade status`',
} as const
