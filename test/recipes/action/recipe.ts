import type { Recipe } from '../recipe.ts'

/** The action `delete` on paths. */
export const ACTION: Recipe = {
  name: 'action',
  edits: [
    {
      file: 'packages/policy-core/src/policy/policy.ts',
      replace: "const FILESYSTEM = ['read', 'write'] as const",
      by: "const FILESYSTEM = ['read', 'write', 'delete'] as const",
    },
    {
      file: 'agent/src/sandbox/view/path-restriction.ts',
      after: "  write: 'read-only',",
      add: "  delete: 'read-only',",
    },
    {
      file: 'test/policy-core/reference/request.ts',
      replace: "action === 'read' || action === 'write'",
      by: "action === 'read' || action === 'write' || action === 'delete'",
    },
    {
      file: 'test/policy-core/reference/reference-rules.ts',
      replace: "action === 'read' || action === 'write'",
      by: "action === 'read' || action === 'write' || action === 'delete'",
    },
    {
      file: 'packages/cli/src/check/check-command.ts',
      replace: '  read, write                an',
      by: '  read, write, delete        an',
    },
    {
      file: 'packages/cli/src/administration/policies/rule-commands.ts',
      replace: 'Resources of read and write:',
      by: 'Resources of read, write and delete:',
    },
  ],
  tests: [
    'test/policy-core/decision/delete.test.ts',
    'test/policy-core/decide.property.test.ts',
    'test/agent/sandbox/view/delete-hold.test.ts',
    'test/server/evidence/audit/format-deleted.test.ts',
  ],
}
