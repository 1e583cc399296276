import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import type { Authenticate } from '../identity/authenticate.ts'
import { registerRoutes } from '../identity/routes/register-routes.ts'
import { accessTokenRoutes } from './access-token-routes.ts'
import { createAccessTokenService, type AccessTokenServiceDeps } from './access-token-service.ts'
import { approverRoutes } from './approver-routes.ts'
import { invitationRoutes } from './invitation-routes.ts'
import { createInvitationService } from './invitation-service.ts'
import { memberRoutes } from './member-routes.ts'
import { createMemberService, type MemberServiceDeps } from './member-service.ts'
import { organizationRoutes } from './organization-routes.ts'
import { createOrganizationService } from './organization-service.ts'
import { passwordRoutes } from './password-routes.ts'
import { createPasswordService, type PasswordServiceDeps } from './password-service.ts'
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
  return async (app) =>
    registerRoutes(app, deps, [
      ...organizationRoutes(createOrganizationService(deps)),
      ...memberRoutes(createMemberService(deps)),
      ...invitationRoutes(createInvitationService(deps)),
      ...passwordRoutes(createPasswordService(deps)),
      ...teamRoutes(createTeamService(deps)),
      ...approverRoutes(deps),
      ...accessTokenRoutes(createAccessTokenService(deps)),
    ])
}
