import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { accessTokenRoutes } from './access-token-routes.ts'
import { createAccessTokenService } from './access-token-service.ts'
import { createAdmission } from './admission.ts'
import type { Authenticate } from './authenticate.ts'
import { memberRoutes } from './member-routes.ts'
import { createMemberService, type MemberServiceDeps } from './member-service.ts'
import { teamRoutes } from './team-routes.ts'
import { createTeamService } from './team-service.ts'

export interface AdminRouteDeps extends MemberServiceDeps {
  readonly authenticate: Authenticate
  /** A new lower-case UUID. */
  readonly newId: () => string
}

/** Members, teams and access tokens under `/api/v1`. */
export function adminRoutes(deps: AdminRouteDeps): FastifyPluginAsyncZod {
  return async (app) => {
    const admission = createAdmission(deps)
    await app.register(memberRoutes({ admission, members: createMemberService(deps) }))
    await app.register(teamRoutes({ admission, teams: createTeamService(deps) }))
    await app.register(accessTokenRoutes({ admission, tokens: createAccessTokenService(deps) }))
  }
}
