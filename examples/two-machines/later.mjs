// A network namespace has no clock of its own. A program started with `--import …/later.mjs?days=8`
// has a clock eight days ahead.
const RealDate = Date
const aheadMs = Number(new URL(import.meta.url).searchParams.get('days') ?? 0) * 86_400_000

globalThis.Date = class extends RealDate {
  constructor(...parts) {
    if (parts.length === 0) super(RealDate.now() + aheadMs)
    else super(...parts)
  }

  static now() {
    return RealDate.now() + aheadMs
  }
}
