import { describe, expect, it } from 'vitest'
import { parseWorkspace } from '../../../packages/cli/src/sandbox/parse-workspace.ts'

const rw = (path: string) => ({ path, access: 'rw' })
const ro = (path: string) => ({ path, access: 'ro' })

describe('a workspace argument', () => {
  it('has read and write access unless its suffix says otherwise', () => {
    expect(parseWorkspace('/a', '/here')).toEqual(rw('/a'))
    expect(parseWorkspace('/a:rw', '/here')).toEqual(rw('/a'))
    expect(parseWorkspace('/a:ro', '/here')).toEqual(ro('/a'))
    expect(parseWorkspace('a:ro:rw', '/here')).toEqual(rw('/here/a:ro'))
    expect(parseWorkspace('.', '/here')).toEqual(rw('/here/.'))
    expect(parseWorkspace('/a\nb:ro', '/here')).toEqual(ro('/a\nb'))
  })

  it('is refused when it is empty', () => {
    expect(() => parseWorkspace(':ro', '/here')).toThrow(/no path; write a directory/)
  })
})
