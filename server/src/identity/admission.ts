import type { Permission } from '@palisade/protocol'
import type { FastifyRequest } from 'fastify'
import type { Store, StoreReader } from '../store/store.ts'
import type { Authenticate } from './authenticate.ts'
import { authorize, requirePerson, type Access } from './authorize.ts'
import {
  formatCredential,
  formatPrincipal,
  type Caller,
  type Principal,
  type UserPrincipal,
} from './principal.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The caller that a hook of `createAdmission` admitted. */
    admitted: { readonly principal: Principal; readonly caller: Caller } | null
  }
}

type OnRequest = (request: FastifyRequest) => Promise<void>

type Params = Readonly<Record<string, string>>

/** A check beyond the permission, before the body is validated. Throws its refusal, such as 404. */
type LookUp = (
  reader: StoreReader,
  params: Params,
  caller: { readonly principal: Principal; readonly access: Access },
) => unknown
type OwnLookUp = (reader: StoreReader, params: Params, user: UserPrincipal) => unknown

/**
 * `onRequest` hooks that refuse callers before their body is read. Services authorize again within
 * the transaction that writes, because permissions may have changed in between.
 */
export interface Admission {
  /** 401. */
  readonly signedIn: OnRequest
  /** 401, or 403 for an organization token; then `lookUp`. */
  person(lookUp?: OwnLookUp): OnRequest
  /** 401, 404 or 403 for the organization in the path parameter `org`; then `lookUp`. */
  organization(permission: Permission | null, lookUp?: LookUp): OnRequest
  /** The admitted caller; throws when no hook above ran. */
  callerOf(request: FastifyRequest): Caller
  /** The principal that `Authenticate` returned: the same object until the account changes. */
  principalOf(request: FastifyRequest): Principal
}

export function createAdmission(deps: {
  readonly authenticate: Authenticate
  readonly store: Pick<Store, 'read'>
}): Admission {
  async function identify(request: FastifyRequest): Promise<Principal> {
    const from = { address: request.ip, request_id: request.id }
    const principal = await deps.authenticate(request.headers.authorization, from)
    const author = { actor: formatPrincipal(principal), ...from }
    request.admitted = { principal, caller: { ...principal, author } }
    request.actor = author.actor
    request.credential = formatCredential(principal)
    request.tokenId = principal.tokenId
    return principal
  }

  return {
    async signedIn(request) {
      await identify(request)
    },

    person: (lookUp) => async (request) => {
      const person = requirePerson(await identify(request))
      const params = request.params as Params
      if (lookUp !== undefined)
        await deps.store.read(async (reader) => lookUp(reader, params, person))
    },

    organization: (permission, lookUp) => async (request) => {
      const principal = await identify(request)
      const params = request.params as Params
      await deps.store.read(async (reader) => {
        const access = await authorize(reader, principal, params['org'] ?? '', permission)
        await lookUp?.(reader, params, { principal, access })
      })
    },

    callerOf: (request) => admittedOf(request).caller,
    principalOf: (request) => admittedOf(request).principal,
  }
}

function admittedOf({ admitted }: FastifyRequest) {
  if (admitted === null) throw new TypeError('the route has no admission hook')
  return admitted
}
