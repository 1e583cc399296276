import type { StagedResult } from '@palisade/protocol'
import { describe, expect, it } from 'vitest'
import { formatChanges } from '../../../packages/cli/src/sandbox/format-staged.ts'
import { createStyle } from '../../../packages/cli/src/terminal/style.ts'

describe('the table of staged changes', () => {
  it('shows where a link leads, and a space at the end of a name', () => {
    const granted = { kind: 'created', size: 1, verdict: 'allowed', reason: null } as const
    const result: StagedResult = {
      outcome: 'shown',
      session: null,
      changes: [
        { ...granted, path: '/p/a ', type: 'file', detail: null },
        { ...granted, path: '/p/b', type: 'link', detail: 'to `\u001b[2J`' },
      ],
      counts: { allowed: 5, applied: 0, refused: 1, conflict: 0, failed: 0 },
      is_kept: true,
      error: null,
    }
    expect(formatChanges(result, createStyle(false)).split('\n')).toEqual([
      'CHANGE   TYPE  BYTES  VERDICT  DETAIL          PATH',
      'created  file  1      allowed                  `/p/a `',
      'created  link         allowed  to `\\u001b[2J`  /p/b',
      '4 more changes, not listed; policy grants 3 of them',
      '',
    ])
  })
})
