import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { ApiError, invalidArgument, unauthenticatedDevice } from '../../http/api-error.ts'
import { parseDeviceToken } from './device-authorization.ts'
import type { DeviceTokens } from './device-tokens.ts'
import type { ReplayGuard } from './replay-guard.ts'
import { verifyProof, type Proof, type ProvenRequest } from './verify-proof.ts'

const HEADER = 'DPoP'
/** When no more proofs can be remembered: long enough that some are forgotten. */
const RETRY_SECONDS = 60

/** The header in a route's schema; loose, because what is not in it would be missing. */
export const proofSchema = z.looseObject({
  dpop: z.string().optional().meta({
    description: 'A proof of the key of the machine for this request (RFC 9449, Ed25519)',
  }),
})

export interface ProofDeps {
  readonly replays: ReplayGuard
  readonly tokens: DeviceTokens
  readonly now: () => Date
  /** Null when the server goes by the name that it is asked for. */
  readonly publicUrl: string | null
}

export interface Proofs {
  /** The thumbprint of the key that signed the request's proof. Throws 400, or 503 when busy. */
  keyOf(request: FastifyRequest): Promise<string>
  /**
   * An `onRequest` hook for requests with a device token: throws 401 unless a proof beside it is
   * for this request and this token, by the key that the token is bound to. The device itself is
   * looked up afterwards, by its token.
   */
  readonly beside: (request: FastifyRequest) => Promise<void>
}

export function createProofs(deps: ProofDeps): Proofs {
  async function verify(request: FastifyRequest, accessToken?: string): Promise<Proof | string> {
    const { dpop } = request.headers
    if (typeof dpop !== 'string') return 'is missing'
    const proof = await verifyProof(dpop, describeRequest(deps, request, accessToken), deps.now())
    if (typeof proof === 'string') return proof
    switch (deps.replays.admit(proof.thumbprint, proof.jti)) {
      case 'fresh':
        return proof
      case 'replayed':
        return 'was used before; make a new one for each request'
      case 'full':
        throw new ApiError(503, 'internal', 'too many proofs at once; come back later', {
          headers: { 'retry-after': String(RETRY_SECONDS) },
        })
    }
  }

  return {
    async keyOf(request) {
      const proof = await verify(request)
      if (typeof proof !== 'string') return proof.thumbprint
      throw invalidArgument(`the header \`${HEADER}\` ${proof}`, { field: HEADER })
    },

    async beside(request) {
      const token = parseDeviceToken(request.headers.authorization)
      const proof = await verify(request, token)
      if (typeof proof === 'string')
        throw unauthenticatedDevice(`the header \`${HEADER}\` ${proof}`)
      if (deps.tokens.read(token)?.isOf(proof.thumbprint) !== true)
        throw unauthenticatedDevice('the device token is invalid or has expired')
    },
  }
}

/**
 * A server that knows its public URL takes no other. One that does not goes by the `Host` that it is
 * asked for: whoever replays a proof chooses that, but neither method, path nor key.
 */
function describeRequest(
  { publicUrl }: ProofDeps,
  request: FastifyRequest,
  accessToken: string | undefined,
): ProvenRequest {
  const origin = publicUrl ?? `${request.protocol}://${request.host}`
  const path = request.raw.url?.split('?', 1)[0] ?? '/'
  return {
    method: request.method,
    path,
    origins: URL.canParse(origin) ? [origin] : [],
    ...(accessToken === undefined ? {} : { accessToken }),
  }
}
