package main

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/samber/lo"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	"sigs.k8s.io/karpenter/pkg/operator/options"
	nodeutils "sigs.k8s.io/karpenter/pkg/utils/node"
)

const listedTypes = 60 // instance types printed per claim

type plan struct {
	Engine        string          `json:"engine"`
	Version       string          `json:"version"`
	NewNodeClaims []plannedClaim  `json:"newNodeClaims"`
	ExistingNodes []plannedNode   `json:"existingNodes"`
	Unschedulable []unschedulable `json:"unschedulable"`
	PricePerHour  float64         `json:"pricePerHour"`
	SolveMs       []float64       `json:"solveMs"`
	MaxRSSMb      float64         `json:"maxRssMb"`
}

type plannedClaim struct {
	NodePool      string                                        `json:"nodePool"`
	Pods          []string                                      `json:"pods"`
	InstanceTypes []string                                      `json:"instanceTypes"`
	Cheapest      *offer                                        `json:"cheapest"`
	Requirements  []karpv1.NodeSelectorRequirementWithMinValues `json:"requirements"`
	Labels        map[string]string                             `json:"labels"` // what the engine itself decided on
}

type offer struct {
	InstanceType string  `json:"instanceType"`
	Zone         string  `json:"zone"`
	CapacityType string  `json:"capacityType"`
	PricePerHour float64 `json:"pricePerHour"`
}

type plannedNode struct {
	Node string   `json:"node"`
	Pods []string `json:"pods"`
}

type unschedulable struct {
	Pod    string `json:"pod"`
	Reason string `json:"reason"`
}

// solve schedules the pending pods `repeat` times, each with a scheduler of its
// own: the engine's plans differ from run to run. The time it reports is that of
// building the scheduler (topology, daemonset overhead) and solving, not of
// reading files.
func solve(ctx context.Context, objects *store, instanceTypes []*cloudprovider.InstanceType, repeat int) ([]*plan, error) {
	engine, err := newEngine(ctx, objects, instanceTypes, clock.RealClock{})
	if err != nil {
		return nil, err
	}
	var plans []*plan
	for range repeat {
		p, err := engine.solveOnce(ctx)
		if err != nil {
			return nil, err
		}
		plans = append(plans, p)
	}
	for _, p := range plans {
		p.MaxRSSMb = maxRSSMiB()
	}
	return plans, nil
}

func (e *engine) solveOnce(ctx context.Context) (*plan, error) {
	listed, err := nodeutils.GetProvisionablePods(ctx, e.objects)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(listed, func(a, b *corev1.Pod) int { return strings.Compare(podKey(a), podKey(b)) })
	rejected := map[*corev1.Pod]error{}
	pending := lo.Filter(listed, func(pod *corev1.Pod, _ int) bool {
		if err := e.provisioner.Validate(ctx, pod); err != nil {
			rejected[pod] = err
		}
		return rejected[pod] == nil
	})
	start := time.Now()
	results, err := e.schedule(ctx, pending)
	if err != nil {
		return nil, err
	}
	elapsed := float64(time.Since(start).Microseconds()) / 1000
	return describe(results, pending, rejected, elapsed), nil
}

func describe(results scheduling.Results, pending []*corev1.Pod, rejected map[*corev1.Pod]error, solveMs float64) *plan {
	p := &plan{
		Engine: "karpenter", Version: engineVersion(), SolveMs: []float64{solveMs},
		NewNodeClaims: []plannedClaim{}, ExistingNodes: []plannedNode{}, Unschedulable: []unschedulable{},
	}
	left := make(map[string]error, len(pending))
	for _, pod := range pending {
		left[podKey(pod)] = fmt.Errorf("left out by the engine (volume topology)")
	}
	placed := func(keys []string) {
		for _, key := range keys {
			delete(left, key)
		}
	}
	for _, claim := range results.NewNodeClaims {
		planned := describeClaim(claim)
		p.NewNodeClaims = append(p.NewNodeClaims, planned)
		if planned.Cheapest != nil {
			p.PricePerHour += planned.Cheapest.PricePerHour
		}
		placed(planned.Pods)
	}
	for _, node := range results.ExistingNodes {
		if len(node.Pods) > 0 {
			p.ExistingNodes = append(p.ExistingNodes, plannedNode{Node: node.Name(), Pods: podKeys(node.Pods)})
			placed(podKeys(node.Pods))
		}
	}
	for _, errors := range []map[*corev1.Pod]error{results.PodErrors, rejected} {
		for pod, err := range errors {
			left[podKey(pod)] = err
		}
	}
	for _, key := range slices.Sorted(maps.Keys(left)) {
		p.Unschedulable = append(p.Unschedulable, unschedulable{Pod: key, Reason: left[key].Error()})
	}
	return p
}

func (e *engine) schedule(ctx context.Context, pods []*corev1.Pod) (scheduling.Results, error) {
	opts := options.FromContext(ctx)
	schedulerOptions := []scheduling.Options{
		scheduling.DisableReservedCapacityFallback,
		scheduling.NumConcurrentReconciles(int(math.Ceil(float64(opts.CPURequests) / 1000))),
		scheduling.MinValuesPolicy(opts.MinValuesPolicy),
	}
	if opts.PreferencePolicy == options.PreferencePolicyIgnore {
		schedulerOptions = append(schedulerOptions, scheduling.IgnorePreferences)
	}
	scheduler, err := e.provisioner.NewScheduler(ctx, pods, e.cluster.DeepCopyNodes().Active(), nil, schedulerOptions...)
	if err != nil {
		return scheduling.Results{}, err
	}
	results, err := scheduler.Solve(ctx, pods)
	return results.TruncateInstanceTypes(ctx, scheduling.MaxInstanceTypes), err
}

func describeClaim(claim *scheduling.NodeClaim) plannedClaim {
	ordered := claim.InstanceTypeOptions.OrderByPrice(claim.Requirements)
	planned := plannedClaim{
		NodePool:      claim.NodePoolName,
		Pods:          podKeys(claim.Pods),
		InstanceTypes: lo.Map(lo.Slice(ordered, 0, listedTypes), func(t *cloudprovider.InstanceType, _ int) string { return t.Name }),
		Cheapest:      cheapestOffer(claim),
	}
	launched := claim.ToNodeClaim()
	planned.Labels = launched.Labels
	for _, requirement := range launched.Spec.Requirements {
		if requirement.Key != corev1.LabelInstanceTypeStable { // listed above
			slices.Sort(requirement.Values)
			planned.Requirements = append(planned.Requirements, requirement)
		}
	}
	slices.SortFunc(planned.Requirements, func(a, b karpv1.NodeSelectorRequirementWithMinValues) int {
		return strings.Compare(a.Key+string(a.Operator), b.Key+string(b.Operator))
	})
	return planned
}

// cheapestOffer is the offering that a launch at the lowest price would take.
func cheapestOffer(claim *scheduling.NodeClaim) *offer {
	var best *offer
	for _, instanceType := range claim.InstanceTypeOptions {
		for _, offering := range instanceType.Offerings.Available().Compatible(claim.Requirements) {
			if best == nil || offering.Price < best.PricePerHour {
				best = &offer{instanceType.Name, offering.Zone(), offering.CapacityType(), offering.Price}
			}
		}
	}
	return best
}

func podKey(pod *corev1.Pod) string { return client.ObjectKeyFromObject(pod).String() }

func podKeys(pods []*corev1.Pod) []string {
	return sets.List(sets.New(lo.Map(pods, func(pod *corev1.Pod, _ int) string { return podKey(pod) })...))
}
