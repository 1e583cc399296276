import { FILESYSTEM_ACTIONS, type DenyPlace } from '@palisade/policy-core'
import { describe, expect, it } from 'vitest'
import { actionsOf, holdOf } from '../../../../agent/src/sandbox/view/held-path.ts'

const NONE = Object.fromEntries(
  FILESYSTEM_ACTIONS.map((action) => [action, false]),
) as DenyPlace['denies']

describe('the hold of a path', () => {
  it('is the strongest one of its denied actions', () => {
    expect(holdOf({ ...NONE, read: true })).toBe('hidden')
    expect(holdOf({ ...NONE, read: true, write: true })).toBe('hidden')
    expect(holdOf({ ...NONE, write: true })).toBe('read-only')
    expect(holdOf(NONE)).toBeNull()
  })

  it('leaves a read-only path the actions that hide it when they are denied', () => {
    expect(actionsOf('ro')).toEqual(['read'])
    expect(actionsOf('rw')).toEqual(FILESYSTEM_ACTIONS)
  })
})
