import { Counter, Gauge, type Registry } from 'prom-client'
import type { Overload } from '../overload/overload.ts'

/** `palisade_overload_delay_seconds`, `palisade_overload_share`, `palisade_turned_away_total` */
export function exposeOverload(
  registry: Registry,
  overload: Pick<Overload, 'delayMs' | 'share' | 'turnedAway'>,
): void {
  const registers = [registry]
  const gauge = (name: string, help: string, read: () => number) =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(read())
      },
    })
  gauge(
    'palisade_overload_delay_seconds',
    'Median delay of the event loop in the last second',
    () => overload.delayMs() / 1000,
  )
  gauge('palisade_overload_share', 'Share of polls that are told to retry later', () =>
    overload.share(),
  )
  // oxlint-disable-next-line no-new -- it registers itself
  new Counter({
    name: 'palisade_turned_away_total',
    help: 'Requests of devices that were told to retry later',
    registers,
    collect() {
      this.reset()
      this.inc(overload.turnedAway())
    },
  })
}
