import type { FastifyRequest } from 'fastify'
import { authorize, requireEntitled, type Access } from '../identity/authorize.ts'
import { payerOf } from '../identity/payer.ts'
import { permissionDenied } from '../platform/api-error.ts'
import type { GovernanceRouteDeps } from './governance-call.ts'
import type { OrgParams } from './route-schemas.ts'

/** As the contract has it: a policy of 400 KB, escaped and indented. */
const MAX_POLICY_BODY_BYTES = 1024 * 1024
/** 100 policies of 250 ordinary rules are 6 MiB. */
const MAX_DOCUMENT_BYTES = 16 * 1024 * 1024

/** Options of a route: how large its body may be, and who may send one. */
export interface BodyAdmission {
  readonly bodyLimit: number
  /** Throws 404, 403 or 429 before the body is read; the handler asks again with its transaction. */
  readonly onRequest: (request: FastifyRequest) => Promise<void>
}

/** For the body of one policy or rule. */
export function policyBody(deps: GovernanceRouteDeps): BodyAdmission {
  return {
    bodyLimit: MAX_POLICY_BODY_BYTES,
    onRequest: (request) => enter(deps, request, 'policies:write'),
  }
}

/** For a document of policies: what it asks for decides which permission it needs. */
export function documentBody(deps: GovernanceRouteDeps): BodyAdmission {
  return {
    bodyLimit: MAX_DOCUMENT_BYTES,
    onRequest: (request) =>
      enter(deps, request, null, (access) => {
        const { permissions, organization } = access
        if (!permissions.includes('policies:read') && !permissions.includes('policies:write'))
          throw permissionDenied('this needs the permission `policies:write`')
        requireEntitled(organization)
        deps.budget.require(payerOf(deps.admission.principalOf(request), access))
      }),
  }
}

async function enter(
  deps: GovernanceRouteDeps,
  request: FastifyRequest,
  permission: 'policies:write' | null,
  judge: (access: Access) => void = () => undefined,
): Promise<void> {
  const { org = '' } = request.params as Partial<OrgParams>
  const principal = deps.admission.principalOf(request)
  await deps.store.read(async (reader) => {
    judge(await authorize(reader, principal, org, permission))
  })
}
