import { decide } from './decide/measure-decide.ts'
import { evidence } from './evidence/measure-evidence.ts'
import type { Subject } from './figures/subject.ts'
import { fleet } from './fleet/measure-fleet.ts'
import { sandbox } from './sandbox/measure-sandbox.ts'
import { server } from './server/measure-server.ts'
import { tunnels } from './tunnels/measure-tunnels.ts'

export const SUBJECTS: readonly Subject[] = [decide, server, tunnels, sandbox, evidence, fleet]
