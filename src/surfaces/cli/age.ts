/** A duration in its two largest units: `3d 4h`, `12s`. */
const units = [
  { name: 'd', ms: 86_400_000 },
  { name: 'h', ms: 3_600_000 },
  { name: 'm', ms: 60_000 },
  { name: 's', ms: 1_000 },
] as const

export function age(ms: number): string {
  const at = units.findIndex((unit) => ms >= unit.ms)
  const unit = units[at]
  if (unit === undefined) return '0s'
  const whole = `${Math.floor(ms / unit.ms)}${unit.name}`
  const next = units[at + 1]
  const rest = next === undefined ? 0 : Math.floor((ms % unit.ms) / next.ms)
  return rest === 0 ? whole : `${whole} ${rest}${next?.name}`
}
