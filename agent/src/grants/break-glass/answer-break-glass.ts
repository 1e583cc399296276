import type { BreakGlassResult } from '@palisade/protocol'
import type { Logger } from 'pino'
import type { Poller } from '../../sync/update/poller.ts'
import type { BreakGlass } from './break-glass.ts'
import type { GrantFault } from './grant-fault.ts'

/** Answers of the local API about grants. Each waits its turn with fetches. */
export function answerBreakGlass(deps: {
  readonly breakGlass: Pick<BreakGlass, 'begin' | 'end' | 'inForce'>
  readonly poller: Pick<Poller, 'inTurn'>
  readonly log: Pick<Logger, 'warn'>
}): {
  readonly beginBreakGlass: (body: Uint8Array) => Promise<BreakGlassResult>
  readonly endBreakGlass: () => Promise<BreakGlassResult>
} {
  const { breakGlass, poller, log } = deps

  const describe = (outcome: 'begun' | 'ended', fault: GrantFault | null): BreakGlassResult => {
    const grant = breakGlass.inForce()
    if (fault === null) return { outcome, grant, error: null }
    const { code, message } = fault
    log.warn({ code, message }, `break-glass: a grant was not ${outcome}`)
    return { outcome: 'failed', grant, error: { code, message } }
  }

  return {
    beginBreakGlass: (body) =>
      poller.inTurn(async () => describe('begun', await breakGlass.begin(body))),
    endBreakGlass: () => poller.inTurn(async () => describe('ended', await breakGlass.end())),
  }
}
