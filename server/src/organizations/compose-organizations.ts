import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import type { AuditedStore } from '../history/audit/audited-store.ts'
import type { Identity } from '../identity/compose-identity.ts'
import type { Quotas } from '../identity/limits/quotas.ts'
import { registerRoutes } from '../identity/routes/register-routes.ts'
import type { Sources } from '../platform/sources.ts'
import { accessTokenRoutes } from './access-token-routes.ts'
import { createAccessTokenService } from './access-token-service.ts'
import { approverRoutes } from './approver-routes.ts'
import { invitationRoutes } from './invitation-routes.ts'
import { createInvitationService } from './invitation-service.ts'
import { memberRoutes } from './member-routes.ts'
import { createMemberService } from './member-service.ts'
import { organizationRoutes } from './organization-routes.ts'
import { createOrganizationService } from './organization-service.ts'
import { passwordRoutes } from './password-routes.ts'
import { createPasswordService } from './password-service.ts'
import { teamRoutes } from './team-routes.ts'
import { createTeamService } from './team-service.ts'

/** Composes organizations, members, passwords, teams and access tokens under `/api/v1`. */
export function composeOrganizations(deps: {
  readonly audited: AuditedStore
  readonly identity: Omit<Identity, 'jobs' | 'routes' | 'tokenUse'>
  readonly quotas: Quotas
  readonly pageTokenKey: Uint8Array
  readonly sources: Sources
}): FastifyPluginAsyncZod {
  const { audited: store, quotas, pageTokenKey } = deps
  const { authenticate, passwordQueue, provePassword, signInLimits, writeLimits } = deps.identity
  const { now, random, newId } = deps.sources

  const organizations = createOrganizationService({ store, pageTokenKey })
  const members = createMemberService({
    store,
    quotas,
    passwordQueue,
    signInLimits,
    pageTokenKey,
    now,
    random,
  })
  const invitations = createInvitationService({ store, quotas, writeLimits, pageTokenKey, now })
  const passwords = createPasswordService({
    store,
    passwordQueue,
    signInLimits,
    provePassword,
    now,
    random,
  })
  const teams = createTeamService({ store, quotas, pageTokenKey, now, newId })
  const accessTokens = createAccessTokenService({
    store,
    quotas,
    writeLimits,
    pageTokenKey,
    now,
    random,
    newId,
  })
  return async (app) =>
    registerRoutes(app, { authenticate, store }, [
      ...organizationRoutes(organizations),
      ...memberRoutes(members),
      ...invitationRoutes(invitations),
      ...passwordRoutes(passwords),
      ...teamRoutes(teams),
      ...approverRoutes({ store, pageTokenKey }),
      ...accessTokenRoutes(accessTokens),
    ])
}
