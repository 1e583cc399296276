import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { accessTokenRoutes } from './access-token-routes.ts'
import { createAccessTokenService, type AccessTokenServiceDeps } from './access-token-service.ts'
import { createAdmission } from '../identity/admission.ts'
import type { Authenticate } from '../identity/authenticate.ts'
import { createOrganizationService } from './organization-service.ts'
import { organizationRoutes } from './organization-routes.ts'
import { passwordRoutes } from './password-routes.ts'
import { createPasswordService, type PasswordServiceDeps } from './password-service.ts'
import { memberRoutes } from './member-routes.ts'
import { invitationRoutes } from './invitation-routes.ts'
import { createInvitationService } from './invitation-service.ts'
import { createMemberService, type MemberServiceDeps } from './member-service.ts'
import { teamRoutes } from './team-routes.ts'
import { createTeamService } from './team-service.ts'

export interface AdminRouteDeps
  extends AccessTokenServiceDeps, MemberServiceDeps, PasswordServiceDeps {
  readonly authenticate: Authenticate
  /** A new lower-case UUID. */
  readonly newId: () => string
}

/** Organizations, members, passwords, teams and access tokens under `/api/v1`. */
export function adminRoutes(deps: AdminRouteDeps): FastifyPluginAsyncZod {
  return async (app) => {
    const admission = createAdmission(deps)
    const organizations = createOrganizationService(deps)
    await app.register(organizationRoutes({ admission, organizations }))
    await app.register(memberRoutes({ admission, members: createMemberService(deps) }))
    const invitations = createInvitationService(deps)
    await app.register(invitationRoutes({ admission, invitations }))
    await app.register(passwordRoutes({ admission, passwords: createPasswordService(deps) }))
    await app.register(teamRoutes({ admission, teams: createTeamService(deps) }))
    await app.register(accessTokenRoutes({ admission, tokens: createAccessTokenService(deps) }))
  }
}
