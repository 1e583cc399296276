import type { Recipe } from '../recipe.ts'

/** `POST /api/v1/orgs/:org/team-name-checks` tells whether a name for a team is free. */
export const ENDPOINT: Recipe = {
  name: 'endpoint',
  edits: [
    {
      file: 'packages/protocol/src/index.ts',
      after: "} from './accounts/token.ts'",
      add: `export {
  checkTeamNameRequestSchema,
  checkedTeamNameSchema,
  type CheckedTeamName,
} from './accounts/team-name-check.ts'`,
    },
    {
      file: 'server/src/organizations/compose-organizations.ts',
      after: "import { approverRoutes } from './approver-routes.ts'",
      add: "import { teamNameCheckRoutes } from './team-name-check-routes.ts'",
    },
    {
      file: 'server/src/organizations/compose-organizations.ts',
      after: '      ...approverRoutes({ store, pageTokenKey }),',
      add: '      ...teamNameCheckRoutes({ store }),',
    },
    {
      file: 'packages/client/src/server/organization.ts',
      replace: '  teamSchema,\n',
      by: '  checkedTeamNameSchema,\n  teamSchema,\n',
    },
    {
      file: 'packages/client/src/server/organization.ts',
      after: '  update(settings: UpdateOrganizationRequest): Promise<OrganizationBody>',
      add: '  /** Whether no team has it. */\n  isTeamNameFree(name: string): Promise<boolean>',
    },
    {
      file: 'packages/client/src/server/organization.ts',
      after: "    get: async () => call({ method: 'GET', path: root }, organizationSchema),",
      add: `    async isTeamNameFree(name) {
      const path = \`\${root}/team-name-checks\`
      return (await call({ method: 'POST', path, body: { name } }, checkedTeamNameSchema)).is_free
    },`,
    },
  ],
  tests: [
    'test/server/organizations/team-name-check-routes.test.ts',
    'test/client/server/team-name.test.ts',
  ],
}
