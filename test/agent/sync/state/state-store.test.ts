import { join } from 'node:path'
import { expect, it } from 'vitest'
import { NO_GRANTS } from '../../../../agent/src/sync/trust/grant-ledger.ts'
import { createStateStore } from '../../../../agent/src/sync/state/state-store.ts'
import type { TrustedState } from '../../../../agent/src/sync/trust/trusted-state.ts'
import { NO_MARKS } from '../../../../agent/src/sync/trust/view-marks.ts'
import { NOW_MS } from '../../fixture/bundle.ts'
import { temporaryDirectory } from '../../fixture/temporary-directory.ts'

const stateWith = (roots: readonly string[]): TrustedState => ({
  org: 'acme',
  device_id: 'device',
  roots: [...roots],
  view: null,
  newest_assignment: null,
  grants: NO_GRANTS,
  is_revoked: false,
  issued_ms: 0,
  ...NO_MARKS,
})

it('refuses to write a state too large to be read again, and keeps the former one', async () => {
  const store = createStateStore(join(await temporaryDirectory(), 'policy'))
  const small = stateWith(['x'.repeat(4_000_000)])
  await store.write(small)

  const tooLarge = store.write(stateWith(['x'.repeat(4_200_000)]))

  await expect(tooLarge).rejects.toThrow('would be larger than 4194304 bytes')
  expect(await store.read(NOW_MS)).toEqual({ state: small, problem: null })
})
