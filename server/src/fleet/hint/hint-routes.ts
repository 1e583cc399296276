import { hintQuerySchema, hintSchema } from '@palisade/protocol'
import type { FastifyRequest } from 'fastify'
import { ApiError, unauthenticatedDevice } from '../../platform/api-error.ts'
import { proofSchema, type Proofs } from '../../identity/device/require-proof.ts'
import type { Proof } from '../../identity/device/verify-proof.ts'
import { defineRoute, type Route } from '../../identity/routes/route.ts'
import type { DeviceIdentity, ViewService } from '../../views/view-service.ts'
import type { Hints } from './hints.ts'

/** Callers that find no free slot come back within this many seconds after the least. */
const RETRY = { leastSeconds: 30, spreadSeconds: 256 } as const
/** Before the token ends: an answer must still be given to it. */
const TOKEN_MARGIN_MS = 1_000

export interface HintRouteDeps {
  readonly views: Pick<ViewService, 'identify'>
  readonly proofs: Pick<Proofs, 'verifyTokenProof'>
  /** Null when hints are turned off; then there is no route. */
  readonly hints: Pick<Hints, 'wait'> | null
  readonly now: () => Date
  readonly random: (bytes: number) => Uint8Array
}

/** `GET /api/v1/device/hint` */
export function hintRoutes({ views, proofs, hints, now, random }: HintRouteDeps): Route[] {
  if (hints === null) return []
  const proven = new WeakMap<FastifyRequest, { proof: Proof; device: DeviceIdentity }>()
  return [
    defineRoute(
      {
        method: 'GET',
        path: '/api/v1/device/hint',
        operationId: 'waitForHint',
        tags: ['devices'],
        summary: 'Wait up to 50 seconds until there may be something to fetch',
        callers: 'machines',
        credential: 'device_token',
        async prove(request) {
          const proof = await proofs.verifyTokenProof(request)
          const device = await views.identify(request.headers.authorization)
          proven.set(request, { proof, device })
        },
        headers: proofSchema,
        query: hintQuerySchema,
        config: { quiet: true, waits: true, yields: 'begins' },
        answers: { 200: hintSchema },
      },
      async ({ headers: { authorization }, query, request }) => {
        const known = proven.get(request)
        if (known === undefined) throw new Error('a request without its proof')
        const { proof, device } = known
        const { socket } = request.raw
        const hint = await hints.wait({
          ...device,
          since: readNumber(query.since),
          assignment: readNumber(query.assignment),
          proof,
          leftMs: device.expiresMs - now().getTime() - TOKEN_MARGIN_MS,
          // Not the event: no answer that waits behind another on its connection hears of it.
          isGone: () => socket.destroyed,
          confirm: () => views.identify(authorization),
        })
        if (hint === 'replayed')
          throw unauthenticatedDevice('the header `DPoP` was used before; create a new proof')
        if (hint === 'full') throw tooMany(random)
        return hint
      },
    ),
  ]
}

function readNumber(text: string | undefined): number | null {
  return text === undefined ? null : Number(text)
}

function tooMany(random: HintRouteDeps['random']): ApiError {
  const seconds = RETRY.leastSeconds + ((random(1)[0] ?? 0) * RETRY.spreadSeconds) / 256
  return new ApiError(503, 'internal', 'too many machines wait for hints; poll as usual', {
    headers: { 'retry-after': String(Math.floor(seconds)) },
  })
}
