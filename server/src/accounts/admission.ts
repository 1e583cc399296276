import type { Permission } from '@palisade/protocol'
import type { FastifyRequest } from 'fastify'
import type { Store, StoreReader } from '../store/store.ts'
import type { Authenticate } from './authenticate.ts'
import { authorize } from './authorize.ts'
import { formatPrincipal, type Caller, type Principal } from './principal.ts'

type OnRequest = (request: FastifyRequest) => Promise<void>

/** What must hold beyond the permission before a body may be judged, such as a 404. */
type LookUp = (reader: StoreReader, params: Readonly<Record<string, string>>) => Promise<void>

/**
 * `onRequest` hooks that turn callers away before their body is read. Services ask again within
 * the transaction that writes, because rights may have changed in between.
 */
export interface Admission {
  /** 401. */
  readonly signedIn: OnRequest
  /** 401, 404 or 403 for the organization in the path parameter `org`; then `lookUp`. */
  organization(permission: Permission | null, lookUp?: LookUp): OnRequest
  /** Who was admitted; throws when no hook above ran. */
  callerOf(request: FastifyRequest): Caller
}

export function createAdmission(deps: {
  readonly authenticate: Authenticate
  readonly store: Pick<Store, 'read'>
}): Admission {
  const callers = new WeakMap<FastifyRequest, Caller>()

  async function identify(request: FastifyRequest): Promise<Principal> {
    const principal = await deps.authenticate(request.headers.authorization)
    const author = {
      actor: formatPrincipal(principal),
      address: request.ip,
      request_id: request.id,
    }
    callers.set(request, { ...principal, author })
    request.actor = author.actor
    return principal
  }

  return {
    async signedIn(request) {
      await identify(request)
    },

    organization: (permission, lookUp) => async (request) => {
      const principal = await identify(request)
      const params = request.params as Readonly<Record<string, string>>
      await deps.store.read(async (reader) => {
        await authorize(reader, principal, params['org'] ?? '', permission)
        await lookUp?.(reader, params)
      })
    },

    callerOf(request) {
      const caller = callers.get(request)
      if (caller === undefined) throw new TypeError('the route has no admission hook')
      return caller
    },
  }
}
