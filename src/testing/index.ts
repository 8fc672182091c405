/** For tests of apps and of backends: the contract of a backend, a virtual clock, a reference model. */
export {
  type BackendContract,
  type ContractHarness,
  type ContractRunner,
  describeBackendContract,
} from './backend-contract/backend-contract.ts'
export { ReferenceModel } from './reference-model.ts'
export {
  seededIds,
  seededRandomness,
  VirtualClock,
  type VirtualClockOptions,
  type VirtualPorts,
  virtualPorts,
} from './virtual-clock.ts'
