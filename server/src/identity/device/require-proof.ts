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
/** `Retry-After` when no more proofs can be remembered. */
const RETRY_SECONDS = 60

/** The header in the schema of a route. Loose: a strict schema would drop the other headers. */
export const proofSchema = z.looseObject({
  dpop: z.string().optional().meta({
    description: 'Proof of possession of the machine key for this request (RFC 9449, Ed25519)',
  }),
})

export interface ProofDeps {
  readonly replays: ReplayGuard
  /**
   * For enrolment proofs, in room of their own: a caller who may enrol can create any number of
   * keys.
   */
  readonly enrolments: ReplayGuard
  readonly tokens: DeviceTokens
  readonly now: () => Date
  /** Null when the server takes its origin from the request. */
  readonly publicUrl: string | null
}

/** The key that signed the proof of a request. */
export interface ProvenKey {
  readonly thumbprint: string
  /**
   * Marks the proof as used. Throws the status of an invalid proof for a replay, 429 for too many
   * proofs of one key, or 503. Call this before any work for the key, but only for a key that
   * belongs to a device: room for proofs is bounded, and strangers can create any number of keys.
   */
  consume(): void
  /**
   * Marks the proof of a key that is being enrolled as used, in the room of `payer`. Call this only
   * for a caller who may enrol devices.
   */
  consumeToEnrol(payer?: string): void
}

export interface Proofs {
  /** Throws 400. */
  keyOf(request: FastifyRequest): Promise<ProvenKey>
  /**
   * An `onRequest` hook for requests with a device token. Throws 401 unless the proof is for this
   * request and this token, and is signed by the key that the token is bound to. The device itself
   * is looked up later, by its token.
   */
  readonly requireTokenProof: (request: FastifyRequest) => Promise<void>
  /**
   * The same without marking the proof as used, for requests so frequent that the proofs of a
   * fleet would take all the room. The caller must handle replays itself.
   */
  verifyTokenProof(request: FastifyRequest): Promise<Proof>
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
   * Reads the header of a proof. Throws 401 unless the token is bound to its key. The MAC of the
   * token is checked before the signature of the proof, because it costs far less. Only keys bound
   * to a token are cached, since strangers can create any number of keys.
   * bench: server/update
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

  function consume(
    { thumbprint, jti }: Proof,
    refuse: (problem: string) => ApiError,
    { guard = deps.replays, payer = thumbprint } = {},
  ): void {
    switch (guard.admit(thumbprint, jti, payer)) {
      case 'fresh':
        return
      case 'replayed':
        throw refuse('was used before; create a new proof for each request')
      case 'used_up':
        throw new ApiError(429, 'limit_exceeded', 'too many proofs of one key; try again later', {
          headers: { 'retry-after': String(RETRY_SECONDS) },
        })
      case 'full':
        throw new ApiError(503, 'internal', 'too many proofs at once; try again later', {
          headers: { 'retry-after': String(RETRY_SECONDS) },
        })
    }
  }

  async function verifyTokenProof(request: FastifyRequest): Promise<Proof> {
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
        consume: () => consume(proof, refuseRequest),
        consumeToEnrol: (payer = thumbprint) =>
          consume(proof, refuseRequest, { guard: deps.enrolments, payer }),
      }
    },

    async requireTokenProof(request) {
      consume(await verifyTokenProof(request), refuseDevice)
    },

    verifyTokenProof,
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
 * A server with a configured public URL accepts only proofs for that origin. Without one it uses
 * the `Host` of the request. An attacker who replays a proof can choose the `Host`, but not the
 * method, path or key.
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
