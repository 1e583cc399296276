import { describe, expect, it } from 'vitest'
import { createSandboxes } from '../../../agent/src/sandbox/sandboxes.ts'

const REQUEST = { workspaces: [{ path: '/work', access: 'rw' }], directory: '/work', variables: {} }

function failing(code: string) {
  const seen: unknown[] = []
  const error = Object.assign(new Error(`${code}: refused by the system`), { code })
  const sandboxes = createSandboxes({
    takeLaunch: () => Promise.reject(error),
    start: () => Promise.reject(new Error('no start without a launch')),
    onError: (each) => seen.push(each),
  })
  return { sandboxes, seen, error }
}

describe('a start that the system refuses', () => {
  it.each([
    ['ENOSPC', 'free some space'],
    ['EDQUOT', 'free some space'],
    ['EMFILE', 'too many files are open'],
    ['ENFILE', 'too many files are open'],
  ])('tells the person of a shortage (%s)', async (code, text) => {
    const { sandboxes, seen, error } = failing(code)
    const { outcome, error: told } = await sandboxes.startSandbox(REQUEST)
    expect([outcome, told?.code]).toEqual(['failed', 'unavailable'])
    expect(told?.message).toContain(text)
    expect(told?.message).toContain(`(${code})`)
    expect(seen).toEqual([error])
  })

  it('leaves the reason of any other fault to the log', async () => {
    const { sandboxes, seen, error } = failing('EIO')
    const { error: told } = await sandboxes.startSandbox(REQUEST)
    expect(told?.message).toBe('no sandbox could be made; the log of the agent says why')
    expect(seen).toEqual([error])
  })
})
