import type { ConnectRequest } from '@palisade/policy-core'
import type { Socket } from 'node:net'
import { decideAndTake, decideHeld } from '../../grants/access/once-grants.ts'
import type { MachineDecision } from '../../policy/decision/active-policy.ts'
import { awaitFlushed } from '../../http/await-flushed.ts'
import type { FlowEnd, EnforcementEvent } from '../../enforcement/enforcement-event.ts'
import { bindContent, refuseHttp2 } from '../content/bind-content.ts'
import type { Flight } from '../content/flight.ts'
import { readHttp2Offer, watchForSwitch, withoutHttp2Offer } from '../content/http2-offer.ts'
import type { PassDeps } from '../forward/forward-request.ts'
import type { Target } from '../target/authority.ts'
import { openConnection, type Opening } from '../target/open-connection.ts'
import { awaitFirstFlight } from './await-first-flight.ts'
import { formatContentDenial } from './format-content-denial.ts'
import { hangUp } from '../../http/hang-up.ts'
import { startRelay } from './relay.ts'

export type TunnelRefusal = { readonly kind: 'too_many' } | Exclude<Opening, { kind: 'open' }>

/** A program that asks for a tunnel, in a dialect of the proxy or by its own connection. */
export interface TunnelRequest {
  readonly point: EnforcementEvent['point']
  readonly protocol: 'connect' | 'socks5' | 'tcp'
  /** Paused; bytes after the request are unread. */
  readonly client: Socket
  readonly target: Target
  /** Tells the program that the tunnel is open. */
  grant(): void
  /** Tells the program why it gets no tunnel, and ends its connection. */
  refuse(refusal: TunnelRefusal): void
}

/**
 * Opens a tunnel to a decided address, or refuses it. The bytes of the target are carried at once,
 * because in many protocols the server speaks first. Those of the program wait until the first of
 * them are seen to fit the target.
 */
export async function openTunnel(deps: PassDeps, request: TunnelRequest): Promise<void> {
  const { client } = request
  const target = deps.rename?.(request.target) ?? request.target
  client.on('error', () => client.destroy())
  const slot = await deps.admission.enterEarly(client)
  if (slot === null) return request.refuse({ kind: 'too_many' })
  const gone = new AbortController()
  const onClose = (): void => gone.abort('the client is gone')
  client.once('close', onClose)
  const tell = (decision: MachineDecision, flow?: FlowEnd): void =>
    deps.onEvent({
      point: request.point,
      protocol: request.protocol,
      decision,
      client: end,
      ...(flow === undefined ? {} : { flow }),
    })
  // Read before the end of the connection, which forgets it.
  const end = deps.clientEndpoint(client)
  try {
    const opening = await openConnection(deps, target, slot, gone.signal)
    client.off('close', onClose)
    if (opening.kind === 'open' || opening.kind === 'refused') tell(opening.decision)
    if (opening.kind !== 'open') {
      request.refuse(opening)
      await awaitFlushed(client, deps.flushTimeoutMs)
      return slot.leave()
    }
    const { socket: upstream, address, decision } = opening
    let final = decision
    // A parent proxy has answered on the same connection.
    const heardBefore = upstream.bytesRead
    const relay = startRelay(client, upstream, deps.idleMs, (flow) => {
      slot.leave()
      tell(final, flow)
    })
    const guarded = { action: 'connect:tcp', ...target, address }
    const revoke = (denial: MachineDecision | null): void => {
      if (denial !== null) final = denial
      relay.close(denial === null ? 'closed' : 'revoked')
    }
    slot.guard(guarded, revoke)
    // A policy change, or the program, may have closed one of them while the other was awaited.
    if (upstream.destroyed || client.destroyed) return relay.close('closed')
    request.grant()

    /** Decides again once it is guarded: a new policy may have come into force since. */
    const guardFurther = async (
      further: ConnectRequest | null,
    ): Promise<MachineDecision | null> => {
      if (further === null) return null
      slot.guard(guarded, revoke, further)
      const again = await decideAndTake(deps, slot, further)
      return again.decision === 'deny' ? { ...again, content: 'foreign_name' } : null
    }
    const bindFlight = async (flight: Flight, held: Buffer): Promise<void> => {
      const decide = (asked: unknown): MachineDecision => decideHeld(deps, slot, asked)
      const content = await bindContent({ ...deps, decide }, { target, address, decision }, flight)
      if (client.destroyed || upstream.destroyed) return
      const denial =
        content.kind === 'refused' ? content.decision : await guardFurther(content.further)
      if (client.destroyed || upstream.destroyed) return
      if (denial !== null) {
        final = denial
        const isSilent = upstream.bytesRead === heardBefore
        relay.abandon('content')
        if (isSilent) hangUp(client, formatContentDenial(flight, denial))
        else client.destroy()
        return
      }
      // A terminator of TLS for names with rules on methods and paths would stand here.
      const isOffer = flight.kind === 'http' && readHttp2Offer(flight.head) !== 'none'
      if (isOffer)
        watchForSwitch(upstream, () => {
          final = refuseHttp2({ target, address, decision })
          relay.close('content')
        })
      relay.passOn(isOffer ? withoutHttp2Offer(held) : held)
    }
    awaitFirstFlight(client, {
      onHarmless: (bytes) => upstream.write(bytes),
      onFlight(flight, held) {
        bindFlight(flight, held).catch((error: unknown) => {
          relay.close('closed')
          deps.onError(error)
        })
      },
    })
  } catch (error) {
    slot.leave()
    client.destroy()
    throw error
  }
}
