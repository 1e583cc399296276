import { describe, expect, it } from 'vitest'
import { trampolineArguments } from '../../../../agent/src/sandbox/launch/trampoline.ts'

describe('the arguments of the trampoline', () => {
  it('refuse a NUL', () => {
    const programs = { setpriv: '', nsenter: '', bubblewrap: '', env: '' }
    const limits = { processes: 1, files: 1, dataBytes: null, mustEnterCgroups: false }
    const launch = { directory: '/d\0', holder: 1, programs, limits }

    expect(() => trampolineArguments(launch)).toThrow(RangeError)
  })
})
