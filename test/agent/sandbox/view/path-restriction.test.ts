import { FILESYSTEM_ACTIONS, type DenyPlace } from '@palisade/policy-core'
import { describe, expect, it } from 'vitest'
import { actionsOf, restrictionOf } from '../../../../agent/src/sandbox/view/path-restriction.ts'

const NONE = Object.fromEntries(
  FILESYSTEM_ACTIONS.map((action) => [action, false]),
) as DenyPlace['denies']

describe('the hold of a path', () => {
  it('is the strongest one of its denied actions', () => {
    expect(restrictionOf({ ...NONE, read: true })).toBe('hidden')
    expect(restrictionOf({ ...NONE, read: true, write: true })).toBe('hidden')
    expect(restrictionOf({ ...NONE, write: true })).toBe('read-only')
    expect(restrictionOf(NONE)).toBeNull()
  })

  it('leaves a read-only path the actions that hide it when they are denied', () => {
    expect(actionsOf('ro')).toEqual(['read'])
    expect(actionsOf('rw')).toEqual(FILESYSTEM_ACTIONS)
  })
})
