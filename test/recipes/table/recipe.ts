import type { Recipe } from '../recipe.ts'

/** Notes of an organization, with an event for each. */
export const TABLE: Recipe = {
  name: 'table',
  edits: [
    {
      file: 'server/src/store/sql/migrations/migrations.ts',
      after: "import { initial } from './initial/initial.ts'",
      add: "import { notes } from './notes.ts'",
    },
    {
      file: 'server/src/store/sql/migrations/migrations.ts',
      replace: '\n]\n',
      by: '\n  notes,\n]\n',
    },
    {
      file: 'server/src/store/aggregates/aggregates.ts',
      after: "import { MEMBERSHIPS } from './people/memberships.ts'",
      add: "import { NOTES } from './people/notes.ts'",
    },
    {
      file: 'server/src/store/aggregates/aggregates.ts',
      after: '  teams: TEAMS,',
      add: '  notes: NOTES,',
    },
    {
      file: 'packages/protocol/src/history/event.ts',
      after: "  'team.approver_removed',",
      add: "  'note.created',",
    },
    {
      file: 'test/server/history/audit/audited-writes.ts',
      replace: '\n  grants: {\n',
      by: `
  notes: {
    insert: [
      (writer) =>
        writer.notes.insert({ id: 'n9', org: 'acme', text: 'freeze', created_at: NOW }),
      [
        [
          'note.created',
          { id: 'n9', name: null },
          null,
          { id: 'n9', text: 'freeze', created_at: NOW },
        ],
      ],
    ],
  },
  grants: {
`,
    },
    {
      file: 'test/server/history/tables-of-authority.test.ts',
      after: "  team_claims: 'of the server: which teams an issuer named last',",
      add: "  notes: 'gives no authority',",
    },
  ],
  tests: [
    'test/server/store/notes.store.test.ts',
    'test/server/history/audit/audited-store.test.ts',
    'test/server/history/tables-of-authority.test.ts',
    'test/server/store/sql/query-plans.test.ts',
  ],
}
