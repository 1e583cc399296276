import { keyFileOf } from '@palisade/client'
import type { AgentStatus } from '@palisade/protocol'
import { quoteShell } from '../terminal/quote-shell.ts'

const AGAIN = 'then run `palisade sync`'
const UPDATE = 'update the agent'

/** Advice by the code of the failure. The operator of the server mends any other. */
const MENDS: ReadonlyMap<string, (server: string) => string> = new Map([
  ['unreachable', makeReachable],
  ['timeout', makeReachable],
  ['foreign_answer', passNetwork],
  ['redirected', passNetwork],
  ['proof_refused', () => 'set the clock of this machine, such as with `timedatectl set-ntp true`'],
  ['busy', () => `wait a minute, ${AGAIN}`],
  ['stopping', () => `wait a minute, ${AGAIN}`],
  ['cache_not_written', () => `free space on the disk of the agent, ${AGAIN}`],
  ['unsupported_policy', () => UPDATE],
  ['not_compilable', () => UPDATE],
  ['self_test_failed', () => UPDATE],
])

/** How to mend the last failure of the server; `enrolment` is the file that the agent reads. */
export function mendServer(status: AgentStatus, enrolment: string): string {
  const { server, state, sync } = status
  const code = sync.last_error?.code
  if (state === 'revoked' || code === 'revoked') return mendRevoked(status, enrolment)
  if (code === undefined) return makeReachable(server)
  const mend = MENDS.get(code)
  return mend?.(server) ?? `tell the operator of ${server}; this machine has no part in it`
}

function makeReachable(server: string): string {
  return `make ${server} reachable from this machine, ${AGAIN}`
}

function passNetwork(server: string): string {
  return `sign in to this network, or let it pass ${server} on, ${AGAIN}`
}

/** The key that the server refuses is never accepted again, and `enrol` replaces no file. */
function mendRevoked({ user }: AgentStatus, enrolment: string): string {
  const files = [enrolment, keyFileOf(enrolment)].map(quoteShell).join(' ')
  const name = user === null ? '' : ` --user ${quoteShell(user)}`
  const commands = `rm ${files} && palisade enrol${name}`
  return `enrol this machine again: \`${commands}\`, then restart the agent`
}
