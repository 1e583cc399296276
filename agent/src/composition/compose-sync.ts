import { join } from 'node:path'
import type { AgentEnvironment } from '../agent.ts'
import { createBreakGlass } from '../grants/break-glass/break-glass.ts'
import { logOutcomes } from '../log-events.ts'
import type { ActivePolicy } from '../policy/decision/active-policy.ts'
import type { TrustedClock } from '../policy/state/trusted-clock.ts'
import type { ProbeResults } from '../probe/proxy/probe-results.ts'
import { reportToServer } from '../report/report-to-server.ts'
import { createConflictCheck } from '../sync/enrol/second-enrolment.ts'
import { HINTS_OFF, listenForHints } from '../sync/hint/hint-listener.ts'
import { createSelfTestMemory } from '../sync/state/self-test-memory.ts'
import { createStateStore } from '../sync/state/state-store.ts'
import { fetchAsDevice } from '../sync/transport/fetch-file.ts'
import { createPoller } from '../sync/update/poller.ts'
import { createSynchronizer } from '../sync/update/synchronizer.ts'
import { createSchedule, createTimetable } from '../sync/update/timetable.ts'
import { createViewChannel } from '../sync/update/view-channel.ts'

export type Sync = ReturnType<typeof composeSync>

/** Composes the parts that keep this machine and its server in step. */
export function composeSync(
  environment: AgentEnvironment,
  given: {
    readonly time: TrustedClock
    readonly active: ActivePolicy
    readonly probes: ProbeResults
  },
) {
  const { config, enrolment, key, fetch, home, version, clock, uptime, random } = environment
  const { log, onError } = environment
  const { time, active, probes } = given
  const directory = join(config.agentDir, 'policy')

  const fetchFile = fetchAsDevice({ enrolment, key, fetch, now: time.now, clock, random })
  const store = createStateStore(directory)
  const channel = createViewChannel({ enrolment, store, fetchFile, clock: time })
  const synchronizer = createSynchronizer({
    active,
    channel,
    checkConflict: createConflictCheck(config, enrolment, active),
    selfTests: createSelfTestMemory({ directory, version, home }),
    org: enrolment.org,
    clock,
    uptime,
    onError,
  })
  const schedule = createSchedule(config.syncSchedule, clock)
  const timetable = createTimetable(schedule, random(), clock)
  const poller = createPoller({ run: synchronizer.run, timetable, clock, onError })
  logOutcomes(poller, log)
  const breakGlass = createBreakGlass({
    active,
    channel,
    store,
    enrolment,
    clock: time,
    uptime,
    inTurn: poller.inTurn,
    log,
  })
  const reporter = reportToServer({
    active,
    breakGlass,
    record: synchronizer.record,
    probes,
    fetchFile,
    version,
    random,
    uptime,
    log,
  })
  poller.subscribe(reporter.notice)
  const assignment = synchronizer.assignmentVersion
  const hints = config.hints
    ? listenForHints({ fetchFile, poller, reporter, assignment, clock, uptime, random })
    : HINTS_OFF
  return { fetchFile, synchronizer, poller, breakGlass, reporter, hints }
}
