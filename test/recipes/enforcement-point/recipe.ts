import type { Recipe } from '../recipe.ts'

/** The point `beacon`, which answers programs that ask whether an agent serves. */
export const ENFORCEMENT_POINT: Recipe = {
  name: 'enforcement-point',
  edits: [
    {
      file: 'agent/src/enforcement/enforcement-point.ts',
      replace: "export type PointName = 'proxy'",
      by: "export type PointName = 'proxy' | 'beacon'",
    },
    {
      file: 'agent/src/enforcement/enforcement-point.ts',
      replace: "{ proxy: '' }",
      by: "{ proxy: '', beacon: '' }",
    },
    {
      file: 'agent/src/probe/proxy/probe-results.ts',
      after: '    proxy: null,',
      add: '    beacon: null,',
    },
    {
      file: 'agent/src/composition/compose-enforcement.ts',
      after: "import type { AgentEnvironment } from '../agent.ts'",
      add: "import { createBeacon } from '../beacon/beacon.ts'",
    },
    {
      file: 'agent/src/composition/compose-enforcement.ts',
      replace: '  const points: EnforcementPoint[] = [proxy]',
      by: `  const beacon = createBeacon({ clock })
  const points: EnforcementPoint[] = [proxy, beacon]`,
    },
    {
      file: 'agent/src/composition/compose-enforcement.ts',
      replace: 'const probed: Probed[] = [{',
      by: 'const probed: Probed[] = [beacon, {',
    },
    {
      file: 'test/architecture/agent-floors.ts',
      replace: "['local-api', 'report']",
      by: "['local-api', 'report', 'beacon']",
    },
    {
      file: 'packages/protocol/src/machine/local-api.ts',
      after: '  proxy: z.string(),',
      add: '  beacon: z.string().optional(),',
    },
    {
      file: 'packages/protocol/src/machine/local-api.ts',
      after: '      proxy: probeResultSchema.nullable(),',
      add: '      beacon: probeResultSchema.nullable().optional(),',
    },
    {
      file: 'test/agent/enforcement/enforcement-point.test.ts',
      replace: "{ proxy: 'http://127.0.0.1:0' }",
      by: "{ proxy: 'http://127.0.0.1:0', beacon: '' }",
    },
    {
      file: 'test/agent/enforcement/enforcement-point.test.ts',
      replace: "{ proxy: '' }",
      by: "{ proxy: '', beacon: '' }",
    },
    {
      file: 'test/agent/container.test.ts',
      replace: "toMatchObject({ enrolled_as: 'build machine' })",
      by: `toMatchObject({
      enrolled_as: 'build machine',
      beacon: expect.stringMatching(/^tcp:.*:[1-9]/),
    })`,
    },
    {
      file: 'test/agent/probe/proxy/prober.test.ts',
      replace: '{ proxy: null, sandbox: null, strict: null }',
      by: '{ proxy: null, beacon: null, sandbox: null, strict: null }',
    },
  ],
  tests: [
    'test/agent/beacon/beacon.test.ts',
    'test/agent/enforcement/enforcement-point.test.ts',
    'test/agent/container.test.ts',
  ],
  titles: 'beacon|an enforcement point|the name that it was enrolled under',
}
