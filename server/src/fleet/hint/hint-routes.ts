import { hintQuerySchema, hintSchema } from '@palisade/protocol'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import type { FastifyRequest } from 'fastify'
import { ApiError, unauthenticatedDevice } from '../../platform/api-error.ts'
import { errorResponses } from '../../http/errors/error-responses.ts'
import { proofSchema, type Proofs } from '../../identity/device/require-proof.ts'
import type { Proof } from '../../identity/device/verify-proof.ts'
import type { DeviceIdentity, ViewService } from '../../views/view-service.ts'
import type { Hints } from './hints.ts'

/** Those who find no place come back within this many seconds after the least. */
const RETRY = { leastSeconds: 30, spreadSeconds: 256 } as const
/** Before the token ends: an answer must still be given to it. */
const TOKEN_MARGIN_MS = 1_000

export interface HintRouteDeps {
  readonly views: Pick<ViewService, 'identify'>
  readonly proofs: Pick<Proofs, 'holding'>
  /** Null where nobody is told; then there is no route. */
  readonly hints: Pick<Hints, 'wait'> | null
  readonly now: () => Date
  readonly random: (bytes: number) => Uint8Array
}

/** `GET /api/v1/device/hint` */
export function hintRoutes(deps: HintRouteDeps): FastifyPluginAsyncZod {
  const { views, proofs, hints, now } = deps
  const proven = new WeakMap<FastifyRequest, { proof: Proof; device: DeviceIdentity }>()
  return async (app) => {
    if (hints === null) return
    app.get(
      '/api/v1/device/hint',
      {
        config: { quiet: true, waits: true, yields: 'begins' },
        async onRequest(request) {
          const proof = await proofs.holding(request)
          const device = await views.identify(request.headers.authorization)
          proven.set(request, { proof, device })
        },
        schema: {
          operationId: 'waitForHint',
          tags: ['devices'],
          summary: 'Wait until there may be something to fetch, 50 seconds at most',
          security: [{ device_token: [] }],
          headers: proofSchema,
          querystring: hintQuerySchema,
          response: { 200: hintSchema, ...errorResponses([400, 401, 403, 429]) },
        },
      },
      async (request) => {
        const known = proven.get(request)
        if (known === undefined) throw new Error('a request without its proof')
        const { proof, device } = known
        const { authorization } = request.headers
        const { socket } = request.raw
        const hint = await hints.wait({
          ...device,
          since: readSince(request.query.since),
          proof,
          leftMs: device.expiresMs - now().getTime() - TOKEN_MARGIN_MS,
          // Not the event: no answer that waits behind another on its connection hears of it.
          isGone: () => socket.destroyed,
          confirm: () => views.identify(authorization),
        })
        if (hint === 'replayed')
          throw unauthenticatedDevice('the header `DPoP` was used before; make a new one')
        if (hint === 'full') throw tooMany(deps.random)
        return hint
      },
    )
  }
}

function readSince(text: string | undefined): number | null {
  return text === undefined ? null : Number(text)
}

function tooMany(random: HintRouteDeps['random']): ApiError {
  const seconds = RETRY.leastSeconds + ((random(1)[0] ?? 0) * RETRY.spreadSeconds) / 256
  return new ApiError(503, 'internal', 'too many machines wait for hints; go on by the timetable', {
    headers: { 'retry-after': String(Math.floor(seconds)) },
  })
}
