import { describe, expect, it } from 'vitest'
import { createCanaries } from '../../../../agent/src/probe/proxy/canaries.ts'
import { HolderError } from '../../../../agent/src/sandbox/holder/start-holder.ts'
import { probeSandbox } from '../../../../agent/src/probe/sandbox/probe-sandbox.ts'
import { temporaryDirectory } from '../../fixture/temporary-directory.ts'

describe('the self-probe of a sandbox', () => {
  it('fails with the reason where no sandbox can be made', async () => {
    const refusal = new HolderError('new namespaces are refused here')
    const result = await probeSandbox({
      canaries: createCanaries(),
      token: () => 'token',
      clock: () => 0,
      temporary: await temporaryDirectory(),
      start: () => Promise.reject(refusal),
      takeLaunch: () => Promise.reject(refusal),
      strict: null,
    })

    expect(result).toEqual({
      at: '1970-01-01T00:00:00.000Z',
      ok: false,
      detail: 'no sandbox could be made: new namespaces are refused here',
    })
  })
})
