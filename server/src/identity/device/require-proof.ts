import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { ApiError, invalidArgument, unauthenticatedDevice } from '../../platform/api-error.ts'
import { pathOfTarget } from '../../http/request-target.ts'
import { parseDeviceToken } from './device-authorization.ts'
import type { DeviceTokenClaims, DeviceTokens } from './device-tokens.ts'
import { createKnownKeys } from './known-keys.ts'
import type { ReplayGuard } from './replay-guard.ts'
import {
  readHeader,
  verifyProof,
  type Proof,
  type ProvenRequest,
  type ReadHeader,
} from './verify-proof.ts'

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
  /**
   * Of proofs that enrol, in a room of their own: whoever may enrol makes as many keys as he likes.
   */
  readonly enrolments: ReplayGuard
  readonly tokens: DeviceTokens
  readonly now: () => Date
  /** Null when the server goes by the name that it is asked for. */
  readonly publicUrl: string | null
}

/** The key that signed a request's proof. */
export interface ProvenKey {
  readonly thumbprint: string
  /**
   * Throws when the proof was used before, with the status of proofs that do not hold, or 503. To
   * be called before anything is done for the key, but only once it is known to be somebody's:
   * there is room for so many proofs, and strangers make as many keys as they like.
   */
  useUp(): void
  /**
   * The same for a key that is to become known, in the room of `payer`. To be called once whoever
   * asks is known to be allowed to.
   */
  useUpToEnrol(payer?: string): void
}

export interface Proofs {
  /** Throws 400. */
  keyOf(request: FastifyRequest): Promise<ProvenKey>
  /**
   * An `onRequest` hook for requests with a device token: throws 401 unless a proof beside it is
   * for this request and this token, by the key that the token is bound to. The device itself is
   * looked up afterwards, by its token.
   */
  readonly beside: (request: FastifyRequest) => Promise<void>
  /**
   * The same without remembering the proof: for what is asked so often that the proofs of a fleet
   * would take all the room that there is, and that makes something of its own of a proof used
   * twice.
   */
  holding(request: FastifyRequest): Promise<Proof>
}

export function createProofs(deps: ProofDeps): Proofs {
  const keys = createKnownKeys()

  function verify(
    request: FastifyRequest,
    accessToken?: string,
    read?: ReadHeader,
  ): Proof | string {
    const { dpop } = request.headers
    if (typeof dpop !== 'string') return 'is missing'
    return verifyProof(dpop, describeRequest(deps, request, accessToken), deps.now(), read)
  }

  /**
   * Reads a header whose key the token is bound to; throws 401 for another one. That is known
   * before any signature is verified, at a fiftieth of its cost, and only such keys are remembered:
   * strangers make as many as they like. A machine's header is the same each time, and to read it
   * takes a quarter of verifying a proof.
   */
  function readKeyOf(token: DeviceTokenClaims): ReadHeader {
    return (header) => {
      const before = keys.find(token.deviceId, header)
      const key = before ?? readHeader(header)
      if (key === null) return null
      if (!token.isOf(key.thumbprint)) throw badToken()
      if (before === null) keys.keep(token.deviceId, header, key)
      return key
    }
  }

  function useUp(
    { thumbprint, jti }: Proof,
    refuse: (problem: string) => ApiError,
    { guard = deps.replays, payer = thumbprint } = {},
  ): void {
    switch (guard.admit(thumbprint, jti, payer)) {
      case 'fresh':
        return
      case 'replayed':
        throw refuse('was used before; make a new one for each request')
      case 'used_up':
        throw new ApiError(429, 'limit_exceeded', 'too many proofs of one key; come back later', {
          headers: { 'retry-after': String(RETRY_SECONDS) },
        })
      case 'full':
        throw new ApiError(503, 'internal', 'too many proofs at once; come back later', {
          headers: { 'retry-after': String(RETRY_SECONDS) },
        })
    }
  }

  async function holding(request: FastifyRequest): Promise<Proof> {
    const token = parseDeviceToken(request.headers.authorization)
    const claims = deps.tokens.read(token)
    if (claims === null) throw badToken()
    const proof = verify(request, token, readKeyOf(claims))
    if (typeof proof === 'string') throw refuseDevice(proof)
    return proof
  }

  return {
    async keyOf(request) {
      const proof = verify(request)
      if (typeof proof === 'string') throw refuseRequest(proof)
      const { thumbprint } = proof
      return {
        thumbprint,
        useUp: () => useUp(proof, refuseRequest),
        useUpToEnrol: (payer = thumbprint) =>
          useUp(proof, refuseRequest, { guard: deps.enrolments, payer }),
      }
    },

    async beside(request) {
      useUp(await holding(request), refuseDevice)
    },

    holding,
  }
}

function badToken(): ApiError {
  return unauthenticatedDevice('the device token is invalid or has expired')
}

function refuseRequest(problem: string): ApiError {
  return invalidArgument(`the header \`${HEADER}\` ${problem}`, { field: HEADER })
}

function refuseDevice(problem: string): ApiError {
  return unauthenticatedDevice(`the header \`${HEADER}\` ${problem}`)
}

/**
 * A server that knows its public URL takes no other. One that does not goes by the `Host` that it
 * is asked for: whoever replays a proof chooses that, but neither method, path nor key.
 */
function describeRequest(
  { publicUrl }: ProofDeps,
  request: FastifyRequest,
  accessToken: string | undefined,
): ProvenRequest {
  const origin = publicUrl ?? `${request.protocol}://${request.host}`
  return {
    method: request.method,
    path: pathOfTarget(request.raw.url ?? '/'),
    origins: URL.canParse(origin) ? [origin] : [],
    ...(accessToken === undefined ? {} : { accessToken }),
  }
}
