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
      file: 'server/src/store/records.ts',
      replace: 'export interface TeamRecord {',
      by: `export interface NoteRecord {
  readonly id: string
  readonly org: string
  readonly text: string
  readonly created_at: string
}

export interface TeamRecord {`,
    },
    {
      file: 'server/src/store/store.ts',
      after: "import type { EventReader, EventWriter } from './contract/history.ts'",
      add: "import type { NoteReader, NoteWriter } from './contract/notes.ts'",
    },
    {
      file: 'server/src/store/store.ts',
      after: '  readonly teams: TeamReader',
      add: '  readonly notes: NoteReader',
    },
    {
      file: 'server/src/store/store.ts',
      after: '  readonly teams: TeamWriter',
      add: '  readonly notes: NoteWriter',
    },
    {
      file: 'server/src/store/sql/rows.ts',
      after:
        "import { createMembershipReader, createMembershipWriter } from './membership-rows.ts'",
      add: "import { createNoteReader, createNoteWriter } from './note-rows.ts'",
    },
    {
      file: 'server/src/store/sql/rows.ts',
      after: '    grants: createGrantReader(connection),',
      add: '    notes: createNoteReader(connection),',
    },
    {
      file: 'server/src/store/sql/rows.ts',
      after: '    grants: createGrantWriter(connection),',
      add: '    notes: createNoteWriter(connection),',
    },
    {
      file: 'server/src/store/sql/tables.ts',
      after: "  { name: 'teams', key: ['id'] },",
      add: "  { name: 'notes', key: ['id'] },",
    },
    {
      file: 'packages/protocol/src/history/event.ts',
      after: "  'team.approver_removed',",
      add: "  'note.created',",
    },
    {
      file: 'server/src/history/audit/audited-writer.ts',
      after: "import { auditOrganizations } from './audit-organizations.ts'",
      add: "import { auditNotes } from './audit-notes.ts'",
    },
    {
      file: 'server/src/history/audit/audited-writer.ts',
      replace: '  get grants() {',
      by: `  get notes() {
    return (this.#made.notes ??= {
      ...this.#writer.notes,
      ...auditNotes(this.#writer.notes, this.#record),
    })
  }

  get grants() {`,
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
  ],
  tests: [
    'test/server/store/notes.store.test.ts',
    'test/server/history/audit/audited-store.test.ts',
    'test/server/store/sql/query-plans.test.ts',
  ],
}
