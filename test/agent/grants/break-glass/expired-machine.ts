import { NOW_MS } from '../../fixture/bundle.ts'
import { fileOf, grantOf } from '../../fixture/grant.ts'
import { HOUR_MS, request, type Scene } from '../../fixture/sync-scene.ts'

export const LATER_MS = NOW_MS + 8 * 24 * HOUR_MS
export const SHUT = 'expired deny'
export const LIFTED = 'break_glass allow'

export const enforced = ({ active }: Scene) =>
  `${active.state()} ${active.decide(request).decision}`
export const grantFor = ({ repository }: Scene) =>
  fileOf(grantOf(repository.keys.targets, { atMs: LATER_MS }))
export const begin = async (scene: Scene) =>
  (await scene.breakGlass.begin(grantFor(scene)))?.code ?? 'begun'
