import { readdir } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { captureProgram } from '../../../packages/cli/src/runtime/programs/capture-program.ts'
import { temporaryDirectory } from '../../agent/fixture/temporary-directory.ts'
import { checkSandbox, readKernelSetting } from '../../../packages/cli/src/doctor/sandbox-checks.ts'

describe('the checks of sandboxes', () => {
  it('pass on this machine, on which sandboxes are tested', async () => {
    const directory = await temporaryDirectory()
    const deps = { platform: 'linux', captureProgram, directory, readSetting: readKernelSetting }
    const checks = await checkSandbox(deps)
    expect(checks.map(({ outcome }) => outcome)).toEqual(['ok', 'ok', 'ok'])
    expect(await readdir(directory)).toEqual([])
  })
})
